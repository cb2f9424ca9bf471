//! What every route may answer beside what it says itself, and the form of its failures.

use utoipa::openapi::path::Operation;
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, ResponseBuilder};

/// Of every route.
const ALL: [(&str, &str); 9] = [
    ("400", "The query or the body cannot be read."),
    ("401", "No key, or none of this server."),
    ("403", "The key does not open this."),
    ("404", "It is not there, or not for the eyes of the key."),
    ("422", "A field breaks a limit."),
    ("429", "The queue is full, or the key has done all it may in a second; see Retry-After."),
    ("500", "A stored record cannot be read, or a bug."),
    ("501", "The store cannot do it."),
    ("503", "The store or the server cannot do it now; see Retry-After."),
];
/// Of those with a body.
const WITH_BODY: [(&str, &str); 3] = [
    ("408", "The body came too slowly."),
    ("413", "The body is too large."),
    ("415", "The body does not say that it is JSON."),
];
/// These tell nothing but a word.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];

/// Adds them to the description.
pub(super) fn describe(api: &mut OpenApi) {
    for (path, item) in &mut api.paths.paths {
        if OPEN.contains(&path.as_str()) {
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
    // Every failure is told in the same form.
    for (status, response) in responses {
        if let RefOr::T(response) = response
            && status.starts_with(['4', '5'])
        {
            let content = Content::new(Some(Ref::from_schema_name("Problem")));
            let kind = "application/problem+json";
            response.content.insert(kind.to_owned(), content.into());
        }
    }
}
