//! What a body is for, as a type: a route cannot read one without saying who may send it.

use super::keys::Scope;

/// What the sender of a body wants.
pub(crate) trait Purpose {
    /// Which keys open it: no byte is read of the body of another.
    const SCOPE: Scope;
    /// Whether it ends or keeps leases: there is always room for that.
    const SETTLES: bool = false;
}

/// Storing jobs and events.
#[derive(Debug)]
pub(crate) enum ToEnqueue {}

/// Changing what makes jobs: schedules and subscriptions.
#[derive(Debug)]
pub(crate) enum ToManage {}

/// Asking for work, and telling of it.
#[derive(Debug)]
pub(crate) enum ToWork {}

/// Ending and keeping leases.
#[derive(Debug)]
pub(crate) enum ToSettle {}

/// What an operator does.
#[derive(Debug)]
pub(crate) enum ToAdmin {}

impl Purpose for ToEnqueue {
    const SCOPE: Scope = Scope::Enqueue;
}

impl Purpose for ToManage {
    const SCOPE: Scope = Scope::Manage;
}

impl Purpose for ToWork {
    const SCOPE: Scope = Scope::Work;
}

impl Purpose for ToSettle {
    const SCOPE: Scope = Scope::Work;
    const SETTLES: bool = true;
}

impl Purpose for ToAdmin {
    const SCOPE: Scope = Scope::Admin;
}
