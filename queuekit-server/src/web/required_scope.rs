//! The scope that a body requires, as a type: a route cannot read a body without naming who may
//! send it.

use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::auth::Caller;
use super::keys::Scope;
use super::problem::Problem;

/// The scope that the sender of a body needs.
pub(crate) trait RequiredScope {
    /// The scope; a body is not read if the key lacks it.
    const SCOPE: Scope;
    /// Whether the call ends or extends leases: part of the memory is reserved for that.
    const SETTLES: bool = false;
}

/// A caller with this scope. Before the path and the query, it refuses all others first.
#[derive(Debug)]
pub(crate) struct Allowed<To>(PhantomData<To>);

impl<To: RequiredScope, S: Send + Sync> FromRequestParts<S> for Allowed<To> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Caller::from_request_parts(parts, state).await?.need(To::SCOPE)?;
        Ok(Self(PhantomData))
    }
}

/// Enqueuing jobs and emitting events.
#[derive(Debug)]
pub(crate) enum EnqueueScope {}

/// Changing schedules and subscriptions.
#[derive(Debug)]
pub(crate) enum ManageScope {}

/// Reserving jobs, reporting and sending beats.
#[derive(Debug)]
pub(crate) enum WorkScope {}

/// Ending and extending leases.
#[derive(Debug)]
pub(crate) enum SettleScope {}

/// Actions of operators.
#[derive(Debug)]
pub(crate) enum AdminScope {}

impl RequiredScope for EnqueueScope {
    const SCOPE: Scope = Scope::Enqueue;
}

impl RequiredScope for ManageScope {
    const SCOPE: Scope = Scope::Manage;
}

impl RequiredScope for WorkScope {
    const SCOPE: Scope = Scope::Work;
}

impl RequiredScope for SettleScope {
    const SCOPE: Scope = Scope::Work;
    const SETTLES: bool = true;
}

impl RequiredScope for AdminScope {
    const SCOPE: Scope = Scope::Admin;
}
