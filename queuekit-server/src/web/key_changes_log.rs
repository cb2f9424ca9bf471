//! What a reload changes about the keys, for the log: a file that was read half-written may have
//! lost what restricts a key.

use std::sync::Arc;

use super::glob::Glob;
use super::keys::{Key, KeyEntry, Scope};

/// Logs which keys came, went and changed, and warns of those that may do more than before.
pub(crate) fn log_changes(before: &[Arc<Key>], after: &[Arc<Key>]) {
    let of = |keys: &[Arc<Key>], id: &str| keys.iter().find(|key| key.entry.id == id).cloned();
    for key in after {
        let id = &key.entry.id;
        match of(before, id) {
            None => tracing::info!(key = id, "the key was added"),
            Some(old) if may_do_more(&old.entry, &key.entry) => {
                tracing::warn!(key = id, "the key may do more than before");
            }
            Some(old) if old.entry != key.entry => tracing::info!(key = id, "the key was changed"),
            Some(_) => {}
        }
    }
    for key in before.iter().filter(|key| of(after, &key.entry.id).is_none()) {
        tracing::info!(key = key.entry.id, "the key was removed");
    }
}

/// Whether a scope was added, or a restriction was lifted.
fn may_do_more(before: &KeyEntry, after: &KeyEntry) -> bool {
    let may = |scope: &Scope| before.has(*scope);
    let is_wider = |before: &[Glob], after: &[Glob]| {
        !before.is_empty() && (after.is_empty() || after.iter().any(|glob| !before.contains(glob)))
    };
    !after.scopes.iter().all(may)
        || is_wider(&before.queues, &after.queues)
        || is_wider(&before.kinds, &after.kinds)
        || before.per_second.is_some_and(|old| after.per_second.is_none_or(|new| new > old))
        || before.expires.is_some_and(|old| after.expires.is_none_or(|new| new > old))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(more: &str) -> KeyEntry {
        let digest = "0".repeat(64);
        toml::from_str(&format!("id = 'k'\nsha256 = '{digest}'\n{more}")).unwrap()
    }

    #[test]
    fn s2_a_key_that_lost_a_restriction_may_do_more() {
        let bound = "scopes = ['enqueue']\nqueues = ['a', 'b']\nkinds = ['mail']\nper_second = 5\n\
                     expires = '2027-01-01T00:00:00Z'";
        let before = entry(bound);
        assert!(!may_do_more(&before, &before));
        for (was, is, more) in [
            ("['enqueue']", "['enqueue', 'read']", true),
            ("queues = ['a', 'b']\n", "", true),
            ("['a', 'b']", "['a', 'c']", true),
            ("['a', 'b']", "['a']", false),
            ("kinds = ['mail']\n", "", true),
            ("per_second = 5\n", "", true),
            ("per_second = 5", "per_second = 6", true),
            ("per_second = 5", "per_second = 4", false),
            ("2027-01-01", "2028-01-01", true),
        ] {
            assert_eq!(may_do_more(&before, &entry(&bound.replace(was, is))), more, "{is}");
        }
        let all = entry("scopes = ['admin']");
        assert!(!may_do_more(&all, &before) && may_do_more(&before, &all));
    }

    #[test]
    fn s2_a_list_that_restricts_a_key_to_nothing_is_refused() {
        for list in
            ["scopes = []", "scopes = ['read']\nqueues = []", "scopes = ['read']\nkinds = []"]
        {
            let digest = "0".repeat(64);
            let text = format!("id = 'k'\nsha256 = '{digest}'\n{list}");
            let refused = toml::from_str::<KeyEntry>(&text).unwrap_err().to_string();
            assert!(refused.contains("name at least one"), "{refused}");
        }
    }
}
