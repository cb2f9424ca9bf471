//! Every answer that a test gets has only the fields that the description of the API gives it. The
//! core serializes most answers, and their schemas are written beside: this finds one that lacks a
//! field.

use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::{Ask, Reply, Server, Store};

/// Panics if an answer has a field that is not in the description.
#[track_caller]
pub fn check(method: &str, url: &str, reply: &Reply) {
    let is_json = reply.header("content-type") == Some("application/json");
    if !is_json || !(200..300).contains(&reply.status) {
        return;
    }
    let description = description();
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    let path = format!("/{}", path.split(['?', '#']).next().unwrap_or_default());
    let Some(schema) = schema_of(description, &method.to_lowercase(), &path, reply.status) else {
        return;
    };
    // A payload may have numbers that this parser cannot read.
    let Ok(value) = serde_json::from_str(&reply.text) else { return };
    if let Err(field) = described(description, schema, &value) {
        panic!("{method} {path} answers the field {field}, which its description lacks");
    }
}

/// The description of the API, which is the same on every server.
fn description() -> &'static Value {
    static DESCRIPTION: OnceLock<Value> = OnceLock::new();
    DESCRIPTION.get_or_init(|| {
        let store = Store::of("memory").expect("the store in memory is always there");
        let server = Server::start(store, &[]);
        let ask = Ask::new("GET", format!("{}/openapi.json", server.url));
        ask.try_send().expect("an answer").value()
    })
}

/// The schema of an answer; none if the route or the status is not described.
fn schema_of<'a>(
    description: &'a Value,
    method: &str,
    path: &str,
    status: u16,
) -> Option<&'a Value> {
    let is_route = |pattern: &str| {
        let (pattern, path): (Vec<_>, Vec<_>) =
            (pattern.split('/').collect(), path.split('/').collect());
        let fits = |(wanted, given): (&&str, &&str)| wanted.starts_with('{') || wanted == given;
        pattern.len() == path.len() && pattern.iter().zip(&path).all(fits)
    };
    let paths = description["paths"].as_object()?;
    // A route with the exact words goes before one with a parameter.
    let exact = paths.get(path);
    let route = exact.or_else(|| paths.iter().find(|(to, _)| is_route(to)).map(|(_, it)| it))?;
    let answer = route.get(method)?["responses"].get(status.to_string())?;
    answer["content"]["application/json"].get("schema")
}

/// The path of the first field that is not described.
fn described(description: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let schema = resolved(description, schema);
    for several in ["oneOf", "anyOf"] {
        if let Some(schemas) = schema[several].as_array() {
            let verdicts = schemas.iter().map(|one| described(description, one, value));
            let mut verdicts: Vec<_> = verdicts.collect();
            return if verdicts.contains(&Ok(())) { Ok(()) } else { verdicts.remove(0) };
        }
    }
    match value {
        Value::Array(items) => {
            items.iter().try_for_each(|item| described(description, &schema["items"], item))
        }
        Value::Object(fields) => {
            let mut properties = Map::new();
            collect(description, schema, &mut properties);
            let others = &schema["additionalProperties"];
            if properties.is_empty() || others == &Value::Bool(true) || others.is_object() {
                return Ok(());
            }
            fields.iter().try_for_each(|(name, field)| {
                let schema = properties.get(name).ok_or_else(|| name.clone())?;
                described(description, schema, field).map_err(|inner| format!("{name}.{inner}"))
            })
        }
        _ => Ok(()),
    }
}

/// The properties of a schema, and of those it consists of.
fn collect(description: &Value, schema: &Value, properties: &mut Map<String, Value>) {
    let schema = resolved(description, schema);
    if let Some(own) = schema["properties"].as_object() {
        properties.extend(own.clone());
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        collect(description, part, properties);
    }
}

fn resolved<'a>(description: &'a Value, schema: &'a Value) -> &'a Value {
    let name = schema["$ref"].as_str().and_then(|to| to.strip_prefix("#/"));
    let to = name.and_then(|name| description.pointer(&format!("/{name}")));
    to.map_or(schema, |to| resolved(description, to))
}
