//! W3C trace context: it travels in the metadata of a job, and workers continue the trace.

use axum::http::HeaderMap;
use queuekit::Metadata;

/// Adds the trace context of the headers, unless the metadata has one.
pub(super) fn adopt(headers: &HeaderMap, metadata: Option<Metadata>) -> Option<Metadata> {
    let Some(parent) = text(headers, "traceparent").filter(|parent| is_traceparent(parent)) else {
        return metadata;
    };
    let mut metadata = metadata.unwrap_or_default();
    if metadata.get("traceparent").is_none() {
        metadata.insert("traceparent", parent);
        if let Some(state) = text(headers, "tracestate").filter(|state| state.len() <= 512) {
            metadata.insert("tracestate", state);
        }
    }
    Some(metadata)
}

/// `00-<32 hex>-<16 hex>-<2 hex>`, possibly with more parts of a later version; no id is zero.
/// Anything else must not be passed on (W3C Trace Context, 3.2.2).
fn is_traceparent(text: &str) -> bool {
    let hex = |part: &str| part.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
    let mut parts = text.split('-');
    let mut next = |length: usize| {
        let part = parts.next().unwrap_or_default();
        (part.len() == length && hex(part)).then_some(part)
    };
    let (version, trace, span, flags) = (next(2), next(32), next(16), next(2));
    let is_set = |id: Option<&str>| id.is_some_and(|id| id.bytes().any(|c| c != b'0'));
    let is_known = version.is_some_and(|version| version != "ff");
    is_known && is_set(trace) && is_set(span) && flags.is_some() && text.len() <= 128
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_trace_is_adopted_unless_the_job_has_one_or_it_is_none() {
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", PARENT.parse().unwrap());
        headers.insert("tracestate", "a=b".parse().unwrap());
        let adopted = adopt(&headers, None).unwrap();
        assert_eq!(adopted.get("traceparent"), Some(PARENT));
        assert_eq!(adopted.get("tracestate"), Some("a=b"));
        let own: Metadata = [("traceparent", "mine")].into_iter().collect();
        assert_eq!(adopt(&headers, Some(own.clone())), Some(own));
        for wrong in ["", "00-0-0-01", &PARENT.to_uppercase(), &PARENT.replace("00-", "ff-")] {
            headers.insert("traceparent", wrong.parse().unwrap());
            assert_eq!(adopt(&headers, None), None, "{wrong}");
        }
    }
}
