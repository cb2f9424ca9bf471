//! The events that came while a page of events was open.

use std::collections::VecDeque;

use queuekit::events::EventFilter;
use queuekit::jobs::PageSize;
use queuekit::store::Kind;

use crate::api::App;

/// The most events of a reading, and of all that are remembered.
const READ: usize = 100;
const KEPT: usize = 1000;

/// The types of new events, by the reading that brought them.
#[derive(Clone, Debug, Default)]
pub(in crate::ui) struct NewEvents {
    readings: VecDeque<Reading>,
    /// The last place of the log that was looked at.
    end: u64,
}

#[derive(Clone, Debug)]
struct Reading {
    /// The place of the log after which they are.
    after: u64,
    kinds: Vec<Kind>,
    /// Whether there were more than were read.
    has_more: bool,
}

/// How many events are new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::ui) struct HowMany {
    pub(in crate::ui) count: u64,
    /// Whether there may be more.
    pub(in crate::ui) and_more: bool,
}

impl NewEvents {
    /// None yet, after this place of the log.
    pub(super) fn after(place: u64) -> Self {
        Self { readings: VecDeque::new(), end: place }
    }

    /// Reads what came since. One call of the store.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn read_next(&self, app: &App) -> queuekit::Result<Self> {
        let Some(outbox) = app.store().capabilities().outbox else { return Ok(self.clone()) };
        let filter = EventFilter {
            // Without one, the log is read from its first event.
            cursor: Some(self.end).filter(|end| *end > 0),
            limit: PageSize::new(READ)?,
            ..EventFilter::default()
        };
        let page = outbox.list_events(&filter).await?;
        let mut next = Self { end: page.end, ..self.clone() };
        let kinds: Vec<Kind> = page.events.into_iter().map(|event| event.kind).collect();
        let has_more = page.cursor.is_some();
        if has_more || !kinds.is_empty() {
            next.readings.push_back(Reading { after: self.end, kinds, has_more });
        }
        while next.readings.iter().map(|reading| reading.kinds.len()).sum::<usize>() > KEPT {
            next.readings.pop_front();
            if let Some(oldest) = next.readings.front_mut() {
                oldest.has_more = true;
            }
        }
        Ok(next)
    }

    /// How many of these types are new to a page that showed the log up to a place.
    pub(in crate::ui) fn since(&self, place: u64, is_wanted: impl Fn(&Kind) -> bool) -> HowMany {
        let new = self.readings.iter().filter(|reading| reading.after >= place);
        new.fold(HowMany::default(), |sum, reading| {
            let wanted = reading.kinds.iter().filter(|kind| is_wanted(kind)).count();
            HowMany { count: sum.count + wanted as u64, and_more: sum.and_more || reading.has_more }
        })
    }
}

#[cfg(test)]
mod tests {
    use queuekit::Client;
    use queuekit::events::EventDraft;
    use queuekit::memory::MemoryStore;

    use super::*;
    use crate::api::test_app::app_of;

    #[tokio::test]
    async fn events_that_came_after_a_place_are_counted_once() {
        let client = Client::new(MemoryStore::new());
        let app = app_of(client.clone());
        let emit = async |kind: &str, count: usize| {
            let drafts = (0..count).map(|_| EventDraft::new(kind, "1"));
            client.emit_all(drafts).await.unwrap().ids().unwrap();
        };
        let paid = |kind: &Kind| kind.as_str() == "paid";
        emit("paid", 2).await;
        let shown = NewEvents::after(0).read_next(&app).await.unwrap();
        assert_eq!(shown.since(0, paid), HowMany { count: 2, and_more: false });
        let place = shown.end;
        emit("sent", 1).await;
        emit("paid", 3).await;
        let next = shown.read_next(&app).await.unwrap().read_next(&app).await.unwrap();
        assert_eq!(next.since(place, paid), HowMany { count: 3, and_more: false });
        assert_eq!(next.since(place, |_| true).count, 4);
        assert_eq!(next.since(next.end, paid), HowMany::default());
    }

    /// Guard: a log that grows faster than it is read is not followed event by event.
    #[tokio::test]
    async fn s6_many_events_take_one_bounded_reading_and_little_memory() {
        let client = Client::new(MemoryStore::new());
        let app = app_of(client.clone());
        let mut events = NewEvents::after(0);
        for _ in 0..30 {
            let drafts = (0..500).map(|_| EventDraft::new("paid", "1"));
            client.emit_all(drafts).await.unwrap().ids().unwrap();
            events = events.read_next(&app).await.unwrap();
            let kept: usize = events.readings.iter().map(|reading| reading.kinds.len()).sum();
            assert!(kept <= KEPT);
        }
        let told = events.since(0, |_| true);
        assert!(told.and_more && told.count <= KEPT as u64, "{told:?}");
        assert!(!events.read_next(&app).await.unwrap().since(events.end, |_| true).and_more);
    }
}
