//! R8.10: notes on error groups.

use std::sync::Arc;

use queuekit_core::limits::{GROUP_NOTES, NOTE_BYTES};
use queuekit_core::{GroupId, GroupKey, GroupNote, QueueName, QueuePatch};

use crate::World;
use crate::kit::{HOUR, default_queue, draft, in_parallel, kind, queue};

/// R8.10: a note stays as it was written, with author and time, whatever else is set; a new one
/// replaces it, an empty one removes it, and it goes with its queue.
/// Guard: a change replaces only what it names in the stored settings.
pub async fn r8_10_a_note_is_kept_beside_other_settings(world: &dyn World) {
    let (name, other) = (default_queue(), queue("other"));
    let (group, text) = (group(1), "known: \"ticket\" 123, \u{e9}\u{1f600} \\ </p>");
    let id = world.enqueue(draft()).await;
    world.configure(&other, QueuePatch::default()).await;
    world.configure(&name, QueuePatch::default().per_key(3).paused(true).pause_for(HOUR)).await;
    let before = world.queue(&name).await.as_of;
    let noted = world.configure(&name, QueuePatch::default().note(group, text, "ops")).await;
    let note = noted.note(group).expect("a note").clone();
    assert_eq!((note.text.as_str(), note.by.as_str()), (text, "ops"));
    let after = world.queue(&name).await.as_of;
    assert!((before..=after).contains(&note.at), "the store's time: {note:?}");
    assert_eq!((noted.per_key, noted.paused), (3, true));
    world.advance(HOUR).await;
    let later = world.configure(&name, QueuePatch::default().per_key(4)).await;
    assert_eq!(later.note(group), Some(&note));
    assert_eq!(world.note(&name, group).await, Some(note));
    assert_eq!(world.note(&other, group).await, None);
    assert_eq!(world.reserve_one().await.id(), id, "the queue is served as before");

    world.configure(&name, QueuePatch::default().note(group, "fixed", "dev")).await;
    let note = world.note(&name, group).await.expect("a note");
    assert_eq!((note.text.as_str(), note.by.as_str()), ("fixed", "dev"));
    assert!(note.at >= before + HOUR, "the time of the last: {note:?}");
    let removed = world.configure(&name, QueuePatch::default().note(group, "", "dev")).await;
    assert_eq!(removed.note(group), None);
    assert_eq!(world.queue(&name).await.settings, removed);
    world.configure(&other, QueuePatch::default().note(group, "of other", "ops")).await;
    assert!(world.admin().remove_queue(&other, false).await.expect("remove_queue"));
    world.enqueue(draft().queue(&other)).await;
    assert_eq!(world.note(&other, group).await, None);
}

/// R8.10: a queue keeps its latest notes, of which each may be of the largest size.
/// Guard: the oldest note beyond the limit goes.
pub async fn r8_10_the_latest_notes_of_a_queue_are_kept(world: &dyn World) {
    let name = default_queue();
    let write = async |number: usize| {
        let text = "x".repeat(NOTE_BYTES);
        world.configure(&name, QueuePatch::default().note(group(number), text, "ops")).await;
    };
    for number in 0..GROUP_NOTES {
        write(number).await;
    }
    // Written again, the first is the latest, so that the second goes.
    write(0).await;
    write(GROUP_NOTES).await;
    let settings = world.queue(&name).await.settings;
    for number in 0..=GROUP_NOTES {
        assert_eq!(settings.note(group(number)).is_some(), number != 1, "note {number}");
    }
}

/// R8.10: a note that is too long, or has control characters, is refused with the whole change.
/// Guard: a store checks a patch before it applies it.
pub async fn r8_10_a_note_that_is_refused_changes_nothing(world: &dyn World) {
    let name = default_queue();
    let before = world.configure(&name, QueuePatch::default().note(group(1), "kept", "ops")).await;
    for text in ["x".repeat(NOTE_BYTES + 1), "a\nb".to_owned(), "\0".to_owned()] {
        let patch = QueuePatch::default().per_key(7).note(group(1), text, "ops");
        let refused = world.admin().configure(&name, &patch).await.expect_err("it is refused");
        assert_eq!(refused.kind().as_str(), "invalid");
    }
    assert_eq!(world.queue(&name).await.settings, before);
}

/// R8.10: people who write notes at the same time, through different handles, lose none.
/// Guard: a change is based on the settings that are stored when it is applied.
pub async fn r8_10_no_note_is_lost_to_another(world: &dyn World) {
    let handles = world.handles().await;
    let name = default_queue();
    in_parallel((0..GROUP_NOTES).map(|number| {
        let (store, name) = (Arc::clone(&handles[number % 2]), name.clone());
        async move {
            let patch = QueuePatch::default().note(group(number), number.to_string(), "ops");
            let admin = store.capabilities().admin.expect("the store has Admin");
            admin.configure(&name, &patch).await.expect("configure");
        }
    }))
    .await;
    for number in 0..GROUP_NOTES {
        let note = world.note(&name, group(number)).await.expect("a note");
        assert_eq!(note.text, number.to_string());
    }
}

impl<'w> dyn World + 'w {
    async fn note(&self, queue: &QueueName, group: GroupId) -> Option<GroupNote> {
        self.queue(queue).await.settings.note(group).cloned()
    }
}

/// One of many groups.
fn group(number: usize) -> GroupId {
    GroupKey::of(kind(&format!("k{number}")), "HTTP 503").id()
}
