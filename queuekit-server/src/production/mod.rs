//! The production checklist: `queuekit doctor --production` checks an installation against it, and
//! the dashboard lists it.

mod checklist;
mod checks;
mod item;
mod queues;

use std::fmt;

use queuekit::store::{Backend, BackendExt};
use serde::Serialize;

use checklist::ITEMS;
use item::{Item, Seen, State};

use crate::config::Sources;

/// An item for a page: its name, what is wanted, and where it is set.
pub(crate) type Listed = (&'static str, &'static str, &'static str);

/// The list without looking at anything.
pub(crate) fn listed() -> impl Iterator<Item = Listed> {
    ITEMS.iter().map(|item| (item.name, item.what, item.setting))
}

/// Every item of the list, with its state.
#[derive(Serialize)]
pub(crate) struct Checklist {
    items: Vec<Looked>,
}

#[derive(Serialize)]
struct Looked {
    name: &'static str,
    #[serde(flatten)]
    state: State,
    what: &'static str,
    setting: &'static str,
}

impl Checklist {
    /// Checks each item. If the store does not answer, its items are `NotChecked`.
    pub(crate) async fn look(sources: &Sources, url: &str, store: Option<&dyn Backend>) -> Self {
        let inspect = store.and_then(|store| store.capabilities().inspect);
        let mut seen = Seen::of(sources, url);
        if let Some(inspect) = inspect {
            seen.durability = inspect.durability().await.ok();
            seen.facts = inspect.facts().await.unwrap_or_default();
        }
        if let Some(store) = store {
            seen.queues = store.all_queues().await.ok();
        }
        let looked = |item: &Item| {
            let Item { name, what, setting, look } = *item;
            Looked { name, state: look(&seen), what, setting }
        };
        Self { items: ITEMS.iter().map(looked).collect() }
    }
}

impl fmt::Display for Checklist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.items.iter().map(|item| item.name.len()).max().unwrap_or(0);
        write!(f, "production checklist:")?;
        for Looked { name, state, what, setting } in &self.items {
            let (told, why) = match state {
                State::Ok => ("ok", None),
                State::ToDo(why) => ("to do", Some(&**why)),
                State::NotChecked(why) => ("not checked", Some(*why)),
            };
            write!(f, "\n{told:14}  {name:width$}  {what}")?;
            if let Some(why) = why {
                write!(f, "\n  -> {why}: {setting}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docs_hardening_has_the_lines_of_the_list_and_no_others() {
        let docs = include_str!("../../../docs/hardening.md");
        let lines: Vec<&str> = docs.lines().filter(|line| line.starts_with("| `")).collect();
        let wanted: Vec<String> = ITEMS
            .iter()
            .map(|item| format!("| `{}` | {} | {} |", item.name, item.what, item.setting))
            .collect();
        assert_eq!(lines.join("\n"), wanted.join("\n"));
    }
}
