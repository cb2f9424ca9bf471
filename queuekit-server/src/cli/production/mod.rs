//! `queuekit doctor --production`: what an installation in production is asked for, item by item.

mod items;
mod look;

use std::fmt;

use queuekit::capability::Durability;
use queuekit::{Backend, Queue};
use serde::Serialize;

use super::context::Context;
use crate::config::Sources;
use items::ITEMS;

/// Every item, with what was seen of it.
#[derive(Serialize)]
pub(super) struct Checklist {
    items: Vec<Looked>,
}

/// One line of the list; `docs/hardening.md` has the same lines.
struct Item {
    name: &'static str,
    /// What is wanted.
    what: &'static str,
    /// Where it is set.
    setting: &'static str,
    look: fn(&Seen<'_>) -> State,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "why", rename_all = "snake_case")]
enum State {
    Ok,
    /// With what is missing.
    ToDo(String),
    /// It has to be looked at elsewhere.
    Unseen(&'static str),
}

#[derive(Serialize)]
struct Looked {
    name: &'static str,
    #[serde(flatten)]
    state: State,
    what: &'static str,
    setting: &'static str,
}

/// What can be seen from here: the settings as this command reads them, and the store. Flags of the
/// server and of workers cannot.
struct Seen<'a> {
    sources: &'a Sources,
    /// Of the store.
    url: String,
    durability: Option<Durability>,
    queues: Option<Vec<Queue>>,
}

impl Checklist {
    /// Looks at each item. Of a store that does not answer nothing is seen.
    pub(super) async fn look(context: &Context, store: Option<&dyn Backend>) -> Self {
        let inspect = store.and_then(|store| store.capabilities().inspect);
        let seen = Seen {
            sources: &context.sources,
            url: context.address().to_open().unwrap_or_default().to_owned(),
            durability: match inspect {
                Some(inspect) => inspect.durability().await.ok(),
                None => None,
            },
            queues: match store {
                Some(store) => store.list_queues().await.ok(),
                None => None,
            },
        };
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
        write!(f, "for production:")?;
        for Looked { name, state, what, setting } in &self.items {
            let (told, why) = match state {
                State::Ok => ("ok", None),
                State::ToDo(why) => ("to do", Some(&**why)),
                State::Unseen(why) => ("cannot be seen", Some(*why)),
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
        let docs = include_str!("../../../../docs/hardening.md");
        let lines: Vec<&str> = docs.lines().filter(|line| line.starts_with("| `")).collect();
        let wanted: Vec<String> = ITEMS
            .iter()
            .map(|item| format!("| `{}` | {} | {} |", item.name, item.what, item.setting))
            .collect();
        assert_eq!(lines.join("\n"), wanted.join("\n"));
    }
}
