//! Spans as OTLP in JSON (opentelemetry-proto 1.x, `trace/v1/trace.proto`, and its rules for JSON).

use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status};
use opentelemetry::{Key, KeyValue, Value};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanData;
use serde_json::{Value as Json, json};

/// The flags say whether the parent is of another process.
const KNOWS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;
/// It is on spans for logs; here the parent says it.
const PARENT: &str = "traceparent";

/// The body of a request. All spans are of one resource and one scope.
pub(super) fn encode(resource: &Resource, spans: &[SpanData]) -> Vec<u8> {
    let resource: Vec<Json> = resource.iter().map(|(key, value)| attribute(key, value)).collect();
    let scope = json!({"name": "queuekit", "version": env!("CARGO_PKG_VERSION")});
    let spans: Vec<Json> = spans.iter().map(span).collect();
    let scopes = json!([{"scope": scope, "spans": spans}]);
    let body = json!({"resourceSpans": [
        {"resource": {"attributes": resource}, "scopeSpans": scopes},
    ]});
    body.to_string().into_bytes()
}

fn span(span: &SpanData) -> Json {
    let context = &span.span_context;
    let remote = if span.parent_span_is_remote { IS_REMOTE } else { 0 };
    let flags = u32::from(context.trace_flags().to_u8()) | KNOWS_REMOTE | remote;
    let mut json = json!({
        "traceId": context.trace_id().to_string(),
        "spanId": context.span_id().to_string(),
        "traceState": context.trace_state().header(),
        "flags": flags,
        "name": span.name,
        "kind": kind(&span.span_kind),
        "startTimeUnixNano": nanoseconds(span.start_time),
        "endTimeUnixNano": nanoseconds(span.end_time),
        "attributes": attributes(&span.attributes),
        "droppedAttributesCount": span.dropped_attributes_count,
        "links": span.links.iter().map(|link| linked(&link.span_context)).collect::<Vec<_>>(),
        "status": status(&span.status),
    });
    if span.parent_span_id != SpanId::INVALID {
        json["parentSpanId"] = span.parent_span_id.to_string().into();
    }
    json
}

fn linked(context: &SpanContext) -> Json {
    json!({
        "traceId": context.trace_id().to_string(),
        "spanId": context.span_id().to_string(),
        "traceState": context.trace_state().header(),
        "flags": u32::from(context.trace_flags().to_u8()),
    })
}

fn attributes(attributes: &[KeyValue]) -> Vec<Json> {
    let known = attributes.iter().filter(|pair| pair.key.as_str() != PARENT);
    known.map(|pair| attribute(&pair.key, &pair.value)).collect()
}

fn attribute(key: &Key, value: &Value) -> Json {
    let value = match value {
        Value::Bool(value) => json!({"boolValue": value}),
        // 64-bit numbers are text in JSON.
        Value::I64(value) => json!({"intValue": value.to_string()}),
        Value::F64(value) => json!({"doubleValue": value}),
        value => json!({"stringValue": value.as_str()}),
    };
    json!({"key": key.as_str(), "value": value})
}

fn kind(kind: &SpanKind) -> u8 {
    match kind {
        SpanKind::Internal => 1,
        SpanKind::Server => 2,
        SpanKind::Client => 3,
        SpanKind::Producer => 4,
        SpanKind::Consumer => 5,
    }
}

fn status(status: &Status) -> Json {
    match status {
        Status::Unset => json!({}),
        Status::Ok => json!({"code": 1}),
        Status::Error { description } => json!({"code": 2, "message": description}),
    }
}

fn nanoseconds(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}
