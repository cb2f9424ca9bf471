//! The dashboard.
#![allow(unreachable_pub, reason = "it is one module of a test program")]

mod allowed;
mod assets;
mod attention;
mod browser;
mod changes;
mod counts;
mod errors;
mod events;
mod forms;
mod jobs;
mod live;
mod login;
mod notes;
mod outage;
mod pages;
mod pauses;
mod settings;
mod steps;

pub use browser::Browser;
