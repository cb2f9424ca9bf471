//! The description of the API as one page of HTML.

use std::fmt::Write;

use serde_json::Value;

const STYLE: &str = include_str!("page.css");
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The whole page. Writing to a `String` cannot fail.
pub(super) fn render(api: &Value) -> String {
    let mut html = String::from("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">");
    html.push_str("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
    let _ = write!(html, "<title>queuekit HTTP API</title><style>{STYLE}</style><main>");
    html.push_str("<h1>queuekit HTTP API</h1><p>For programs: <a href=\"/openapi.json\">");
    html.push_str("/openapi.json</a>. Send a key as <code>Authorization: Bearer qk_..</code>");
    html.push_str("; errors are <a href=\"#schema-Problem\">problem+json</a>.</p>");
    contents(&mut html, api);
    for (path, method, operation) in operations(api) {
        show(&mut html, path, method, operation);
    }
    html.push_str("<h2>Bodies</h2>");
    for (name, schema) in entries(&api["components"]["schemas"]) {
        let _ = write!(html, "<section id=\"schema-{0}\"><h3>{0}</h3>", escaped(name));
        paragraph(&mut html, &schema["description"]);
        fields(&mut html, schema);
        html.push_str("</section>");
    }
    html.push_str("</main></html>");
    html
}

fn contents(html: &mut String, api: &Value) {
    html.push_str("<nav><table>");
    for (path, method, operation) in operations(api) {
        let summary = operation["summary"].as_str().unwrap_or_default();
        let _ = write!(
            html,
            "<tr><td class=\"{method}\">{method}<td><a href=\"#{method}{0}\">{0}</a><td>{1}",
            escaped(path),
            escaped(summary)
        );
    }
    html.push_str("</table></nav>");
}

fn show(html: &mut String, path: &str, method: &str, operation: &Value) {
    let _ = write!(
        html,
        "<section id=\"{method}{0}\"><h2><span class=\"{method}\">{method}</span> {0}</h2>",
        escaped(path)
    );
    paragraph(html, &operation["summary"]);
    paragraph(html, &operation["description"]);
    let parameters = operation["parameters"].as_array().map_or(&[][..], Vec::as_slice);
    if !parameters.is_empty() {
        html.push_str("<table class=\"fields\">");
        for parameter in parameters {
            let (name, place) = (&parameter["name"], &parameter["in"]);
            let _ = write!(
                html,
                "<tr><td><code>{}</code><td>{}, {}<td>{}",
                escaped(name.as_str().unwrap_or_default()),
                escaped(place.as_str().unwrap_or_default()),
                kind(&parameter["schema"]),
                escaped(parameter["description"].as_str().unwrap_or_default())
            );
        }
        html.push_str("</table>");
    }
    for (content, body) in entries(&operation["requestBody"]["content"]) {
        let _ =
            write!(html, "<p>Body, <code>{}</code>: {}", escaped(content), kind(&body["schema"]));
    }
    html.push_str("<table class=\"fields\">");
    for (status, response) in entries(&operation["responses"]) {
        let body = entries(&response["content"]).next().map(|(_, body)| kind(&body["schema"]));
        let _ = write!(
            html,
            "<tr><td><b>{}</b><td>{}<td>{}",
            escaped(status),
            escaped(response["description"].as_str().unwrap_or_default()),
            body.unwrap_or_default()
        );
    }
    html.push_str("</table></section>");
}

fn fields(html: &mut String, schema: &Value) {
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let Some(properties) = schema["properties"].as_object() else {
        let _ = write!(html, "<p>{}", kind(schema));
        return;
    };
    html.push_str("<table class=\"fields\">");
    for (name, field) in properties {
        let must = if required.iter().any(|other| other == name) { "" } else { "?" };
        let _ = write!(
            html,
            "<tr><td><code>{}</code>{must}<td>{}<td>{}",
            escaped(name),
            kind(field),
            escaped(field["description"].as_str().unwrap_or_default())
        );
    }
    html.push_str("</table>");
}

/// The type and limits of a schema, in a few words.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return format!("<a href=\"#schema-{0}\">{0}</a>", escaped(name));
    }
    for choice in ["oneOf", "anyOf", "allOf"] {
        if let Some(choices) = schema[choice].as_array() {
            let choices = choices.iter().filter(|choice| choice["type"] != "null");
            return choices.map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().map(|value| escaped(value.as_str().unwrap_or_default()));
        return values.collect::<Vec<_>>().join(", ");
    }
    let named = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null").cloned(),
        kind => Some(kind.clone()),
    };
    let named = named.unwrap_or_default();
    match named.as_str() {
        Some("array") => format!("list of {}", kind(&schema["items"])),
        Some("object") if schema["additionalProperties"].is_object() => {
            format!("{} by name", kind(&schema["additionalProperties"]))
        }
        Some(name) => bounded(name, schema),
        None => "any JSON".to_owned(),
    }
}

fn bounded(name: &str, schema: &Value) -> String {
    let mut text = escaped(schema["format"].as_str().unwrap_or(name));
    match (&schema["minimum"], &schema["maximum"]) {
        (Value::Number(least), Value::Number(most)) => {
            let _ = write!(text, ", {least} to {most}");
        }
        (Value::Null, Value::Number(most)) => drop(write!(text, ", at most {most}")),
        _ => {}
    }
    if !schema["default"].is_null() {
        let default = schema["default"].to_string();
        let _ = write!(text, " [{}]", escaped(default.trim_matches('"')));
    }
    text
}

fn operations(api: &Value) -> impl Iterator<Item = (&str, &'static str, &Value)> {
    entries(&api["paths"]).flat_map(|(path, item)| {
        let of = move |method: &'static str| Some((path, method, item.get(method)?));
        METHODS.into_iter().filter_map(of)
    })
}

fn entries(of: &Value) -> impl Iterator<Item = (&str, &Value)> {
    of.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

fn paragraph(html: &mut String, text: &Value) {
    if let Some(text) = text.as_str().filter(|text| !text.is_empty()) {
        let _ = write!(html, "<p>{}", escaped(text));
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
