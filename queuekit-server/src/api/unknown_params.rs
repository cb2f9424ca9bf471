//! Unknown query parameters are refused on every route: a typo must not become a default.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{Method, Uri};
use axum::middleware::Next;
use axum::response::Response;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::{OpenApi, RefOr};

use crate::web::Problem;

/// The parameters of each route, as the description has them.
#[derive(Debug)]
pub(super) struct KnownParams(HashMap<(String, Method), HashSet<String>>);

impl KnownParams {
    pub(super) fn of(api: &OpenApi) -> Self {
        let mut all = HashMap::new();
        for (path, item) in &api.paths.paths {
            let mut add = |method, operation: &Option<Operation>| {
                if let Some(operation) = operation {
                    all.insert((path.clone(), method), parameters(operation));
                }
            };
            add(Method::GET, &item.get);
            add(Method::HEAD, &item.get);
            add(Method::POST, &item.post);
            add(Method::PUT, &item.put);
            add(Method::PATCH, &item.patch);
            add(Method::DELETE, &item.delete);
        }
        Self(all)
    }

    fn check(&self, route: &str, method: &Method, uri: &Uri) -> Result<(), Problem> {
        let Some(query) = uri.query().filter(|query| !query.is_empty()) else { return Ok(()) };
        // An unknown route or method gets its own error.
        let Some(known) = self.0.get(&(route.to_owned(), method.clone())) else { return Ok(()) };
        let names = serde_urlencoded::from_str::<Vec<(String, String)>>(query);
        let names = names.map_err(|_| Problem::bad_request("the query cannot be read"))?;
        if names.iter().all(|(name, _)| known.contains(name)) {
            return Ok(());
        }
        let mut known: Vec<&str> = known.iter().map(String::as_str).collect();
        known.sort_unstable();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let detail = format!("the query has an unknown parameter; this route has: {known}");
        Err(Problem::bad_request(detail))
    }
}

/// The parameters of a route; where there is `kind`, its alias too.
fn parameters(operation: &Operation) -> HashSet<String> {
    let name = |parameter: &RefOr<Parameter>| match parameter {
        RefOr::T(it) if it.parameter_in == ParameterIn::Query => Some(it.name.clone()),
        _ => None,
    };
    let mut names: HashSet<_> = operation.parameters.iter().flatten().filter_map(name).collect();
    if names.contains("kind") {
        names.insert("type".to_owned());
    }
    names
}

/// The middleware.
pub(super) async fn check(
    State(queries): State<Arc<KnownParams>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if let Some(route) = request.extensions().get::<MatchedPath>() {
        queries.check(route.as_str(), request.method(), request.uri())?;
    }
    Ok(next.run(request).await)
}
