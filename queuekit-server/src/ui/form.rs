//! The fields of a form.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};

use super::failure::Failure;
use crate::api::App;
use crate::web::memory_budget::RequestBudget;
use crate::web::off_the_runtime::off_the_runtime;
use crate::web::{Caller, Problem};

/// Most fields.
const FIELDS: usize = 2000;

/// The fields of a form that was sent with the token of its session. The gate has read it.
#[derive(Clone, Debug)]
pub(super) struct Form {
    fields: Arc<Vec<(String, String)>>,
    /// Its memory.
    _budget: Arc<RequestBudget>,
}

impl Form {
    /// # Errors
    /// 408, 413, 415, 429 or 503 as for other bodies; 400 if it has too many fields.
    pub(super) async fn read(
        app: &App,
        caller: &Caller,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Self, Problem> {
        let (bytes, mut budget) = app.body_reader().read_form(caller, headers, body).await?;
        // The fields are copies, and a byte that is no UTF-8 becomes three.
        budget.grow_to(4 * bytes.len())?;
        let parse = || url::form_urlencoded::parse(&bytes).into_owned().take(FIELDS + 1).collect();
        let fields: Vec<_> = off_the_runtime(caller, bytes.len(), parse).await;
        if fields.len() > FIELDS {
            let detail = format!("the form has more than {FIELDS} fields; select fewer at once");
            return Err(Problem::bad_request(detail));
        }
        Ok(Self { fields: Arc::new(fields), _budget: Arc::new(budget) })
    }

    /// The value of a field; empty if it was not sent.
    pub(super) fn get(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    /// The values of all fields of this name.
    pub(super) fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// The gate puts it there.
impl<S: Send + Sync> FromRequestParts<S> for Form {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| {
            let detail = "this form was reached without the check of its token; report this bug";
            Failure::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
        })
    }
}
