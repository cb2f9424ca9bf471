//! The frame of a page.

use std::fmt::Write;

use queuekit::Status;

use super::attention::concerns;
use super::queue_rows::queues_of;
use crate::ui::live::Snapshot;
use crate::ui::notice;
use crate::ui::view::{Away, Count, Nav, Page, Shell, ViewerKey, When};
use crate::ui::viewer::Viewer;
use crate::web::Scope;
use crate::wire::Time;

/// The most names of queues or kinds that the frame shows.
const NAMES: usize = 3;

impl Viewer {
    /// The frame of this page.
    pub(in crate::ui) fn shell(&self, page: Page, title: &str, now: &Snapshot) -> Shell {
        let at = self.app().now();
        let may_read = self.caller().has(Scope::Read);
        let dead = queues_of(self, now).map(|queue| queue.counts.get(Status::Dead));
        let nav = Nav {
            attention: now.attention(self.caller(), || concerns(self, now).len() as u64),
            dead: dead.map(Count::from).sum(),
        };
        Shell {
            base: self.base().to_owned(),
            path: self.path().to_owned(),
            page,
            title: title.to_owned(),
            environment: self.ui.0.options.environment.clone(),
            store: self.ui.0.store.clone(),
            viewer_key: self.viewer_key(),
            csrf: self.csrf(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            now: format!("{:.3}", Time(at)),
            as_of: When::of(now.read_at, at),
            away: away(now),
            notice: notice::of(self.path()),
            nav: if may_read { nav } else { Nav::default() },
        }
    }

    fn viewer_key(&self) -> ViewerKey {
        let key = self.caller().key().map(str::to_owned);
        ViewerKey { key, role: self.role().word(), limits: self.limits() }
    }

    fn limits(&self) -> Option<String> {
        let (queues, kinds) = self.caller().globs();
        let mut told = String::new();
        for (what, names) in [("queues", queues), ("kinds", kinds)] {
            if names.is_empty() {
                continue;
            }
            let joint = if told.is_empty() { "only " } else { ", " };
            let shown = names.iter().take(NAMES).cloned().collect::<Vec<_>>().join(", ");
            let more = if names.len() > NAMES { ", .." } else { "" };
            // Writing to a String cannot fail.
            let _ = write!(told, "{joint}{what} {shown}{more}");
        }
        (!told.is_empty()).then_some(told)
    }
}

/// Says that the store is away, if it is.
pub(in crate::ui) fn away(now: &Snapshot) -> Away {
    let outage = now.outage.as_ref();
    // The time is absolute in the page, so that this does not change while the outage lasts.
    let since = outage.map(|outage| When::of(outage.since, outage.since));
    Away { error: outage.map(|outage| outage.detail.clone()), since }
}
