//! W3C trace context: a job carries the span that enqueued it, so that its runs continue the trace.

use std::fmt;
use std::sync::Arc;

use crate::backend::Backend;
use crate::event::NewEvent;
use crate::job::{Metadata, NewJob};
use crate::limits::METADATA_NAMES;
use crate::store_limits::Limits;

const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";
/// The names of both.
const SPAN_NAMES: usize = 2;
/// Later versions may be longer; this one has 55 bytes.
const PARENT_BYTES: usize = 128;
/// What everybody must be able to pass on (W3C Trace Context, 3.3.1.5).
const STATE_BYTES: usize = 512;

/// A span, as W3C trace context writes it: in metadata as in HTTP headers, `traceparent` and
/// `tracestate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    parent: String,
    state: Option<String>,
}

impl TraceContext {
    /// The span that these texts name. None if `traceparent` is not one: then nothing must be
    /// passed on. A `tracestate` that is empty, longer than 512 bytes or not printable is left out.
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let is_printable = |text: &str| text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let is_state =
            |state: &&str| !state.is_empty() && state.len() <= STATE_BYTES && is_printable(state);
        is_traceparent(traceparent).then(|| Self {
            parent: traceparent.to_owned(),
            state: tracestate.filter(is_state).map(str::to_owned),
        })
    }

    /// The span that enqueued the job with this metadata.
    pub fn of(metadata: &Metadata) -> Option<Self> {
        Self::parse(metadata.get(PARENT)?, metadata.get(STATE))
    }

    /// `00-<trace id>-<span id>-<flags>`
    pub fn traceparent(&self) -> &str {
        &self.parent
    }

    /// What tracing systems add to it.
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// Adds it to those jobs of a call that have no `traceparent`, as far as the limits allow: no
    /// call is refused for its span.
    pub fn add_to_jobs(&self, jobs: &mut [NewJob], limits: &Limits) {
        let bytes: usize =
            jobs.iter().map(|job| job.payload().len() + job.metadata().bytes()).sum();
        let room = limits.enqueue_bytes().saturating_sub(bytes);
        let most = (limits.metadata_bytes(), METADATA_NAMES);
        self.add_to_all(jobs.iter_mut().map(NewJob::metadata_mut), most, room);
    }

    /// The same for events.
    pub fn add_to_events(&self, events: &mut [NewEvent], limits: &Limits) {
        let bytes: usize =
            events.iter().map(|event| event.data().len() + event.metadata().bytes()).sum();
        let room = limits.enqueue_bytes().saturating_sub(bytes);
        let most = (limits.event_metadata_bytes(), limits.event_metadata_names());
        self.add_to_all(events.iter_mut().map(NewEvent::metadata_mut), most, room);
    }

    fn add_to_all<'a>(
        &self,
        each: impl Iterator<Item = &'a mut Metadata>,
        (bytes, names): (usize, usize),
        mut room: usize,
    ) {
        let has_names = |metadata: &&mut Metadata| metadata.len() + SPAN_NAMES <= names;
        for metadata in each.filter(|metadata| lacks_span(metadata)).filter(has_names) {
            let own = bytes.saturating_sub(metadata.bytes());
            room -= self.add_to(metadata, own.min(room));
        }
    }

    /// How many bytes were added.
    fn add_to(&self, metadata: &mut Metadata, room: usize) -> usize {
        let parent = PARENT.len() + self.parent.len();
        if parent > room {
            return 0;
        }
        // One that is there belongs to another span.
        metadata.remove(STATE);
        metadata.insert(PARENT, self.parent.as_str());
        match &self.state {
            Some(state) if parent + STATE.len() + state.len() <= room => {
                metadata.insert(STATE, state.as_str());
                parent + STATE.len() + state.len()
            }
            _ => parent,
        }
    }
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
    let is_known = match version {
        Some("00") => parts.next().is_none(),
        version => version.is_some_and(|version| version != "ff"),
    };
    let is_printable = text.bytes().all(|byte| byte.is_ascii_graphic());
    let is_short = text.len() <= PARENT_BYTES;
    is_known && is_set(trace) && is_set(span) && flags.is_some() && is_short && is_printable
}

/// Where a client finds the span of a call.
#[derive(Clone)]
pub(super) struct TraceSource(Arc<dyn Fn() -> Option<TraceContext> + Send + Sync>);

impl TraceSource {
    pub(super) fn new(find: impl Fn() -> Option<TraceContext> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// Adds the span of this call to its jobs.
    pub(super) fn trace_jobs(&self, jobs: &mut [NewJob], backend: &dyn Backend) {
        if jobs.iter().any(|job| lacks_span(job.metadata()))
            && let Some(span) = (self.0)()
        {
            span.add_to_jobs(jobs, &backend.capabilities().limits);
        }
    }

    /// The same for events.
    pub(super) fn trace_events(&self, events: &mut [NewEvent], backend: &dyn Backend) {
        if events.iter().any(|event| lacks_span(event.metadata()))
            && let Some(span) = (self.0)()
        {
            span.add_to_events(events, &backend.capabilities().limits);
        }
    }
}

fn lacks_span(metadata: &Metadata) -> bool {
    metadata.get(PARENT).is_none()
}

impl fmt::Debug for TraceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TraceSource")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::memory::MemoryStore;
    use crate::{Client, EventDraft, JobDraft};

    const SPAN: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    /// The bytes that the span adds.
    const ADDED: usize = PARENT.len() + SPAN.len();

    fn span() -> TraceContext {
        TraceContext::parse(SPAN, Some("a=b")).unwrap()
    }

    /// A client whose calls belong to a span, and how often it has asked for it.
    fn traced() -> (Client, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let client = Client::new(MemoryStore::new()).trace_context(move || {
            count.fetch_add(1, Ordering::Relaxed);
            Some(span())
        });
        (client, asked)
    }

    fn job() -> JobDraft {
        JobDraft::new("work", "{}")
    }

    /// Metadata of this many bytes.
    fn filled(bytes: usize) -> Metadata {
        [("a", "x".repeat(bytes - 1))].into()
    }

    #[test]
    fn only_a_traceparent_is_passed_on() {
        let later = format!("{}-more", SPAN.replacen("00", "01", 1));
        for right in [SPAN, &SPAN.replace("-01", "-00"), &later] {
            assert_eq!(TraceContext::parse(right, None).unwrap().traceparent(), right);
        }
        let more = format!("{SPAN}-more");
        let long = format!("{later}{}", "x".repeat(PARENT_BYTES));
        let zero_trace = SPAN.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32));
        let zero_span = SPAN.replace("b7ad6b7169203331", &"0".repeat(16));
        let later_line = format!("{later}\n");
        for wrong in [
            "",
            "00-0-0-01",
            &SPAN[..54],
            &SPAN.to_uppercase(),
            &SPAN.replacen("00", "ff", 1),
            &more,
            &long,
            &zero_trace,
            &zero_span,
            &later_line,
        ] {
            assert_eq!(TraceContext::parse(wrong, Some("a=b")), None, "{wrong}");
        }
    }

    #[test]
    fn a_tracestate_that_nobody_could_pass_on_is_left_out() {
        let state = |text: &str| {
            let context = TraceContext::parse(SPAN, Some(text)).unwrap();
            context.tracestate().map(str::to_owned)
        };
        assert_eq!(state("a=b, c=d").as_deref(), Some("a=b, c=d"));
        assert!(state(&"a".repeat(STATE_BYTES)).is_some());
        for wrong in ["", "a=\n", "ä=b", &"a".repeat(STATE_BYTES + 1)] {
            assert_eq!(state(wrong), None, "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_call_asks_once_and_all_its_jobs_carry_the_span() {
        let (client, asked) = traced();
        let id = client.enqueue(job().metadata([("tenant", "acme")])).await.unwrap();
        let metadata = client.jobs().get(id).await.unwrap().unwrap().metadata;
        assert_eq!(TraceContext::of(&metadata), Some(span()));
        assert_eq!(metadata.get("tenant"), Some("acme"));
        let jobs = client.clone().enqueue_all([job(), job()]).await.unwrap();
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        for id in jobs.ids().unwrap() {
            let job = client.jobs().get(id).await.unwrap().unwrap();
            assert_eq!(TraceContext::of(&job.metadata), Some(span()));
        }
    }

    #[tokio::test]
    async fn a_job_that_names_a_span_keeps_it() {
        let (client, asked) = traced();
        let own: Metadata = [(PARENT, "mine")].into();
        let id = client.enqueue(job().metadata(own.clone())).await.unwrap();
        assert_eq!(client.jobs().get(id).await.unwrap().unwrap().metadata, own);
        assert_eq!(asked.load(Ordering::Relaxed), 0);
    }

    /// Guard: the state of one span is not that of another.
    #[test]
    fn a_tracestate_without_its_traceparent_goes() {
        let mut jobs = [job().metadata([(STATE, "old=1")]).build().unwrap()];
        let bare = TraceContext::parse(SPAN, None).unwrap();
        bare.add_to_jobs(&mut jobs, &Limits::default());
        assert_eq!(jobs[0].metadata(), &[(PARENT, SPAN)].into());
    }

    #[tokio::test]
    async fn events_and_their_deliveries_carry_the_span() {
        let (client, asked) = traced();
        client.subscribe(crate::SubscriptionDraft::new("audit", "order.*")).await.unwrap();
        client.emit(EventDraft::new("order.placed", "7")).await.unwrap();
        client.emit_all([EventDraft::new("order.paid", "7")]).await.unwrap().ids().unwrap();
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        let deliveries = client.jobs().list(&crate::JobFilter::default()).await.unwrap().items;
        assert_eq!(deliveries.len(), 2);
        for delivery in deliveries {
            let job = client.jobs().get(delivery.id).await.unwrap().unwrap();
            assert_eq!(TraceContext::of(&job.metadata), Some(span()));
        }
    }

    #[tokio::test]
    async fn no_job_is_refused_for_its_span() {
        let (client, _) = traced();
        let room = Limits::default().metadata_bytes();
        for (own, carried) in [
            (room, None),
            (room - ADDED + 1, None),
            (room - ADDED, Some(TraceContext::parse(SPAN, None).unwrap())),
            (room - ADDED - STATE.len() - "a=b".len(), Some(span())),
        ] {
            let id = client.enqueue(job().metadata(filled(own))).await.unwrap();
            let metadata = client.jobs().get(id).await.unwrap().unwrap().metadata;
            assert_eq!(TraceContext::of(&metadata), carried, "{own}");
        }
        for (own, carried) in
            [(METADATA_NAMES, None), (METADATA_NAMES - 1, None), (METADATA_NAMES - 2, Some(span()))]
        {
            let many: Metadata = (0..own).map(|n| (n.to_string(), "")).collect();
            let id = client.enqueue(job().metadata(many)).await.unwrap();
            let metadata = client.jobs().get(id).await.unwrap().unwrap().metadata;
            assert_eq!(TraceContext::of(&metadata), carried, "{own} names");
        }
        let room = Limits::default().event_metadata_bytes();
        let full = EventDraft::new("order.placed", "7").metadata(filled(room));
        client.emit(full).await.unwrap();
    }

    #[test]
    fn no_call_is_refused_for_its_span() {
        let bare = TraceContext::parse(SPAN, None).unwrap();
        let mut jobs = [job().build().unwrap(), job().build().unwrap()];
        let limits = Limits::default().with_enqueue_bytes(2 * "{}".len() + ADDED);
        bare.add_to_jobs(&mut jobs, &limits);
        limits.admit_jobs(&jobs).unwrap();
        assert_eq!(jobs[0].metadata(), &[(PARENT, SPAN)].into());
        assert!(jobs[1].metadata().is_empty());
    }
}
