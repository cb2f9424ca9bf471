//! The newest events of the log first. A store lists events in the order in which they were stored,
//! from a place on, so places near the end are tried, then places further back.

use queuekit::Metadata;
use queuekit::events::{Event, EventFilter, EventPattern};
use queuekit::jobs::PageSize;
use queuekit::store::Bytes;
use queuekit::store::capability::Outbox;

use crate::api::app::App;
use crate::web::memory_budget::RequestBudget;
use crate::web::{Caller, Problem, Scope};

/// At least this many events are looked for.
const WANTED: usize = 100;
/// How many places each look goes further back. Beyond them, one look is for all that is left.
const SPANS: [u64; 10] = [WANTED as u64, 500, 2500, DAY, DAY, DAY, DAY, DAY, DAY, DAY];
/// In Postgres, the same number is this many places further back in the log of the day before. In
/// other stores, no log has as many places.
const DAY: u64 = 1 << 44;
/// Events of one answer of the store. It may have fewer, as it ends at its bytes.
const PAGE: usize = 250;
/// The most bytes of the data of an event that are kept.
const DATA_BYTES: usize = 2048;
/// The most answers of the store for one page.
const ANSWERS: usize = 20;

/// The newest events before a place.
pub(crate) struct Newest {
    /// The newest first.
    pub(crate) events: Vec<Event>,
    /// The place up to which they were looked for.
    pub(crate) up_to: u64,
    /// The place before which older events are.
    pub(crate) older: Option<u64>,
    /// Whether there may be older events that were not found within the bounds.
    pub(crate) is_cut: bool,
    /// Their memory.
    _budget: RequestBudget,
}

/// The newest events of these types, up to a place: that of [`Newest::older`], or the end of the
/// log. Each answer of the store after the first counts towards the key's `per_second`.
///
/// # Errors
/// 403 if the key may not read events; 501 if the store has none; those of the store.
pub(crate) async fn newest_events(
    app: &App,
    caller: &Caller,
    pattern: Option<EventPattern>,
    up_to: Option<u64>,
) -> Result<Newest, Problem> {
    caller.need(Scope::Read)?;
    caller.need_events()?;
    let outbox = app.store().capabilities().outbox.ok_or_else(|| Problem::unsupported("events"))?;
    let (budget, _turn) = app.look_up(caller).await?;
    let up_to = match up_to {
        Some(up_to) => up_to,
        None => {
            let any = EventFilter { limit: PageSize::new(1)?, ..EventFilter::default() };
            outbox.list_events(&any).await?.end
        }
    };
    let mut search = Search { outbox, caller, pattern, answers: 0 };
    let (mut parts, mut from, mut is_cut) = (Vec::<Part>::new(), up_to, false);
    for span in SPANS.into_iter().chain([u64::MAX]) {
        let found: usize = parts.iter().map(|part| part.events.len()).sum();
        if from == 0 || found >= WANTED {
            break;
        }
        let begin = from.saturating_sub(span);
        let Some(mut older) = search.between(begin, from).await? else {
            is_cut = true;
            break;
        };
        older.append(&mut parts);
        (parts, from) = (older, begin);
    }
    let mut events = Vec::new();
    while events.len() < WANTED
        && let Some(part) = parts.pop()
    {
        from = part.begin;
        events.extend(part.events.into_iter().rev());
    }
    events.retain(|event| caller.sees_kind(event.kind.as_str()));
    // What is left was found, so that it can be found again.
    let is_cut = is_cut && parts.is_empty();
    let older = (from > 0 && !is_cut).then_some(from);
    Ok(Newest { events, up_to, older, is_cut, _budget: budget })
}

/// Leaves as much of an event as a row shows: the memory of one answer is enough for all of them.
fn shorten(event: &mut Event) {
    event.data = Bytes::copy_from_slice(event.data.get(..DATA_BYTES).unwrap_or(&event.data));
    event.metadata = Metadata::default();
}

/// Events of an answer, and the place after which they begin.
struct Part {
    begin: u64,
    events: Vec<Event>,
}

struct Search<'a> {
    outbox: &'a dyn Outbox,
    caller: &'a Caller,
    pattern: Option<EventPattern>,
    answers: usize,
}

impl Search<'_> {
    /// The last events after a place, up to another; none if there are too many to look at.
    async fn between(&mut self, begin: u64, until: u64) -> Result<Option<Vec<Part>>, Problem> {
        let (mut parts, mut begin) = (Vec::<Part>::new(), begin);
        while self.answers < ANSWERS {
            self.answers += 1;
            self.caller.owe(usize::from(self.answers > 1));
            let filter = EventFilter {
                pattern: self.pattern.clone(),
                // Without one, the log is read from its first event, whatever its place.
                cursor: Some(begin).filter(|begin| *begin > 0),
                until: Some(until),
                limit: PageSize::new(PAGE)?,
                ..EventFilter::default()
            };
            let mut page = self.outbox.list_events(&filter).await?;
            page.events.iter_mut().for_each(shorten);
            parts.push(Part { begin, events: page.events });
            match page.cursor {
                Some(cursor) => begin = cursor,
                None => return Ok(Some(parts)),
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use queuekit::Client;
    use queuekit::events::EventDraft;
    use queuekit::memory::MemoryStore;

    use super::*;
    use crate::api::test_app::app_of;

    /// A log in which event N has the data N, and every hundredth is of another type.
    async fn log_of(events: usize) -> App {
        let client = Client::new(MemoryStore::new());
        for first in (0..events).step_by(500) {
            let draft = |at: usize| {
                let kind = if at.is_multiple_of(100) { "rare" } else { "often" };
                EventDraft::new(kind, at.to_string())
            };
            let some = (first..events.min(first + 500)).map(draft);
            client.emit_all(some).await.unwrap().ids().unwrap();
        }
        app_of(client)
    }

    async fn page(app: &App, pattern: Option<&str>, up_to: Option<u64>) -> (Vec<usize>, Newest) {
        let pattern = pattern.map(|pattern| pattern.parse().unwrap());
        let found = newest_events(app, &Caller::operator(), pattern, up_to).await;
        let found = found.unwrap_or_else(|problem| panic!("{}", problem.kind()));
        let number = |event: &Event| String::from_utf8_lossy(&event.data).parse().unwrap();
        (found.events.iter().map(number).collect(), found)
    }

    /// Guard: a store lists the oldest first, and looks at 10,000 events at once.
    #[tokio::test]
    async fn the_newest_events_come_first_and_pages_lead_back_to_the_first() {
        const EVENTS: usize = 12_050;
        let app = log_of(EVENTS).await;
        let (mut seen, mut up_to, mut pages) = (Vec::new(), None, 0);
        loop {
            let (numbers, found) = page(&app, None, up_to).await;
            assert!(!found.is_cut);
            seen.extend(numbers);
            pages += 1;
            match found.older {
                Some(older) => up_to = Some(older),
                None => break,
            }
        }
        assert!(seen.iter().copied().eq((0..EVENTS).rev()), "each once, the newest first");
        assert_eq!(pages, EVENTS.div_ceil(WANTED));
    }

    #[tokio::test]
    async fn events_of_a_rare_type_are_found_far_back() {
        let app = log_of(12_050).await;
        let (numbers, found) = page(&app, Some("rare"), None).await;
        assert!(numbers.iter().copied().eq((0..12_001).step_by(100).rev()), "{numbers:?}");
        assert!(found.older.is_none() && !found.is_cut);
        assert!(page(&app, Some("never"), None).await.0.is_empty());
    }

    #[tokio::test]
    async fn s6_of_a_long_log_a_bounded_part_is_looked_at_and_that_is_said() {
        let app = log_of(210_000).await;
        let (numbers, found) = page(&app, Some("never"), None).await;
        assert!(numbers.is_empty() && found.is_cut && found.older.is_none());
    }
}
