//! Adds to the description the errors that every route may answer, and their form.

use utoipa::openapi::path::Operation;
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, ResponseBuilder};

use crate::web::{RouteKind, RouteKinds};

/// Errors of every route.
const ALL: [(&str, &str); 9] = [
    ("400", "The query or the body cannot be read."),
    ("401", "No key was sent, or a wrong or expired one."),
    ("403", "The key does not allow this."),
    ("404", "It does not exist, or the key may not see it."),
    ("422", "A field breaks a limit."),
    ("429", "The queue is full, or the key has used its share; see Retry-After."),
    ("500", "A stored record cannot be read, or there is a bug."),
    ("501", "The store does not support this."),
    ("503", "The store or the server is not available now; see Retry-After."),
];
/// Errors of routes with a body.
const WITH_BODY: [(&str, &str); 3] = [
    ("408", "The body did not arrive in time."),
    ("413", "The body is too large."),
    ("415", "The Content-Type is not application/json."),
];

/// Its answer is empty: it comes before a route is known.
const TOO_LARGE_HEAD: (&str, &str) = ("431", "The request line or the headers are too large.");

/// Adds the errors to the description. Open routes have none: they answer one line of text.
pub(super) fn describe(api: &mut OpenApi, kinds: &RouteKinds) {
    for (path, item) in &mut api.paths.paths {
        if kinds.of(path) == RouteKind::Open {
            continue;
        }
        let operations =
            [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete];
        operations.into_iter().flatten().for_each(add);
    }
}

fn add(operation: &mut Operation) {
    let with_body = WITH_BODY.iter().filter(|_| operation.request_body.is_some());
    let responses = &mut operation.responses.responses;
    for (status, description) in ALL.iter().chain(with_body) {
        let response = ResponseBuilder::new().description(*description).build();
        responses.entry((*status).to_owned()).or_insert_with(|| response.into());
    }
    // All errors have the same form.
    for (status, response) in responses {
        if let RefOr::T(response) = response
            && status.starts_with(['4', '5'])
        {
            let content = Content::new(Some(Ref::from_schema_name("Problem")));
            let kind = "application/problem+json";
            response.content.insert(kind.to_owned(), content.into());
        }
    }
    let (status, description) = TOO_LARGE_HEAD;
    let response = ResponseBuilder::new().description(description).build();
    operation.responses.responses.insert(status.to_owned(), response.into());
}
