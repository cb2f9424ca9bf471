//! R8.6: the audit log.

use futures_util::{StreamExt, TryStreamExt, stream};
use queuekit_core::PageSize;
use queuekit_core::capability::{Act, AuditEntry};

use crate::World;
use crate::kit::MINUTE;

/// R8.6: an entry is listed as it was recorded, with the time of the store's clock.
/// Guard: a page begins before the last entry of the previous page.
pub async fn r8_6_acts_are_listed_newest_first(world: &dyn World) {
    let acts = [
        Act::new("ops", "pause", "queue mail"),
        Act::new("ada@host", "retry", "status:dead \"x\\y\" \u{1f389}\n").counted(120, 118),
        Act::new("ops", "remove", "queue mail").with_outcome("conflict"),
    ];
    for act in &acts {
        world.record_act(act).await;
        world.advance(MINUTE).await;
    }
    let entries = world.acts(None, 10).await;
    let listed: Vec<&Act> = entries.iter().map(|entry| &entry.act).collect();
    assert_eq!(listed, acts.iter().rev().collect::<Vec<_>>());
    for pair in entries.windows(2) {
        assert!(pair[0].seq > pair[1].seq, "numbers rise: {entries:?}");
        world.assert_left(Some(pair[0].at.since(pair[1].at) - world.slack()), MINUTE);
    }
    let first = world.acts(None, 2).await;
    let second = world.acts(Some(first[1].seq), 2).await;
    assert_eq!([first, second].concat(), entries, "two pages are the whole");
    assert_eq!(world.acts(Some(entries[2].seq), 2).await, [], "nothing is before the first");
}

/// R8.6: the store keeps the latest entries, up to its limit.
/// Guard: adding an entry removes the oldest ones beyond the limit.
pub async fn r8_6_the_latest_acts_are_kept(world: &dyn World) {
    let kept = world.backend().capabilities().limits.audit_entries();
    for number in 0..kept + 5 {
        world.record_act(&Act::new("ops", "retry", &format!("job {number}"))).await;
    }
    let entries = world.acts(None, kept + 5).await;
    assert_eq!(entries.len(), kept, "entries are kept");
    let targets: Vec<String> = entries.into_iter().map(|entry| entry.act.target).collect();
    let wanted: Vec<_> = (5..kept + 5).rev().map(|number| format!("job {number}")).collect();
    assert_eq!(targets, wanted);
}

/// R8.6: entries added at the same time are all kept, each with its own number.
/// Guard: the step that stores an entry assigns its number.
pub async fn r8_6_acts_at_once_are_all_recorded(world: &dyn World) {
    let names: Vec<String> = (0..20).map(|number| format!("job {number:02}")).collect();
    let record = |name: &String| {
        let act = Act::new("ops", "cancel", name);
        async move { world.audit().record_act(&act).await }
    };
    let recorded = stream::iter(names.iter().map(record)).buffer_unordered(8);
    recorded.try_collect::<Vec<()>>().await.expect("record_act");
    let entries = world.acts(None, 30).await;
    assert!(entries.windows(2).all(|pair| pair[0].seq > pair[1].seq), "{entries:?}");
    let mut targets: Vec<String> = entries.into_iter().map(|entry| entry.act.target).collect();
    targets.sort();
    assert_eq!(targets, names);
}

impl<'w> dyn World + 'w {
    async fn record_act(&self, act: &Act) {
        self.audit().record_act(act).await.expect("record_act");
    }

    async fn acts(&self, before: Option<u64>, limit: usize) -> Vec<AuditEntry> {
        let limit = PageSize::new(limit).expect("a size of a page");
        self.audit().list_acts(before, limit).await.expect("list_acts")
    }
}
