//! Who may send the forms of a route.

use axum::http::StatusCode;

use super::failure::Failure;
use crate::web::{Caller, Scope};

/// Who may send forms to some routes.
#[derive(Clone, Copy)]
pub(super) enum AcceptedForms {
    None,
    /// Anyone with a session may send them.
    OfAll,
    /// Keys with this scope may send them.
    Of(Scope),
}

impl AcceptedForms {
    /// # Errors
    /// If this caller may not send one.
    pub(super) fn check(self, caller: &Caller) -> Result<(), Failure> {
        match self {
            Self::None => {
                let detail = "this page has no form of this kind";
                Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, detail))
            }
            Self::OfAll => Ok(()),
            Self::Of(scope) => Ok(caller.need(scope)?),
        }
    }
}
