//! The dashboard in a browser.
#![allow(unreachable_pub, reason = "it is one module of a test program")]

mod axe;
mod bulk;
mod chrome;
mod commands;
mod hostile_text;
mod keyboard;
mod live;
mod other_origin;
mod pages;
mod screenshot;
mod sessions;
mod tab;
mod webdriver;
mod without_scripts;
mod world;

use chrome::chrome;
use tab::Tab;
