//! The events that came while a page of events was open.

use queuekit::events::EventFilter;
use queuekit::jobs::PageSize;
use queuekit::store::Kind;

use crate::api::App;

/// The most events of a reading, and of all that are remembered.
const READ: usize = 100;
const KEPT: usize = 1000;

/// The events after the place up to which a page showed the log.
#[derive(Clone, Debug, Default)]
pub(in crate::ui) struct NewEvents {
    /// Their types.
    kinds: Vec<Kind>,
    /// Whether there were more than were read or remembered.
    has_more: bool,
    /// The last place of the log that was looked at.
    end: u64,
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
        Self { end: place, ..Self::default() }
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
        next.kinds.extend(page.events.into_iter().map(|event| event.kind));
        next.has_more |= page.cursor.is_some() || next.kinds.len() > KEPT;
        next.kinds.truncate(KEPT);
        Ok(next)
    }

    /// How many of them are of these types.
    pub(in crate::ui) fn count(&self, is_wanted: impl Fn(&Kind) -> bool) -> HowMany {
        let wanted = self.kinds.iter().filter(|kind| is_wanted(kind)).count();
        HowMany { count: wanted as u64, and_more: self.has_more }
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
        let first = NewEvents::after(0).read_next(&app).await.unwrap();
        assert_eq!(first.count(paid), HowMany { count: 2, and_more: false });
        let shown = NewEvents::after(first.end);
        emit("sent", 1).await;
        emit("paid", 3).await;
        let next = shown.read_next(&app).await.unwrap().read_next(&app).await.unwrap();
        assert_eq!(next.count(paid), HowMany { count: 3, and_more: false });
        assert_eq!(next.count(|_| true).count, 4);
        assert_eq!(NewEvents::after(next.end).count(paid), HowMany::default());
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
            assert!(events.kinds.len() <= KEPT);
        }
        let told = events.count(|_| true);
        assert!(told.and_more && told.count <= KEPT as u64, "{told:?}");
        let next = NewEvents::after(events.end).read_next(&app).await.unwrap();
        assert!(!next.count(|_| true).and_more, "each reading goes to the end of the log");
    }
}
