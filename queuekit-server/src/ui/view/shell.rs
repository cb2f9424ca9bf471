//! What surrounds every page: the navigation, the viewer's key, and the age of the data.

use askama::Template;

use super::{Count, When, parts};

/// The frame of a page.
#[derive(Clone, Debug)]
pub(crate) struct Shell {
    /// The path prefix behind a proxy, without a slash at the end; mostly empty.
    pub(crate) base: String,
    /// The page's path and query, without the prefix: what the live stream is asked for.
    pub(crate) path: String,
    pub(crate) page: Page,
    pub(crate) title: String,
    /// The name of the environment, such as `production`.
    pub(crate) environment: Option<String>,
    /// The store, such as `postgres`, without its URL.
    pub(crate) store: String,
    pub(crate) viewer_key: ViewerKey,
    /// Token of the forms.
    pub(crate) csrf: String,
    pub(crate) version: String,
    /// The server's time in RFC 3339, by which scripts correct the clock of the viewer.
    pub(crate) now: String,
    /// When the figures of the page were read.
    pub(crate) as_of: When,
    pub(crate) away: Away,
    /// What the last action did, or why it did not.
    pub(crate) notice: Option<Notice>,
    pub(crate) nav: Nav,
}

/// The key that the page is shown for.
#[derive(Clone, Debug)]
pub(crate) struct ViewerKey {
    /// The id of the API key; none on a server without keys.
    pub(crate) key: Option<String>,
    /// `view`, `operate` or `admin`.
    pub(crate) role: &'static str,
    /// The queues and kinds that the key is restricted to, such as `only emails, billing.*`.
    pub(crate) limits: Option<String>,
}

/// Shown while the store does not answer; the page keeps its last figures.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/away.html")]
pub(crate) struct Away {
    /// What the store said last; none while it answers.
    pub(crate) error: Option<String>,
    /// Since when it does not answer.
    pub(crate) since: Option<When>,
}

/// What the last action did.
#[derive(Clone, Debug)]
pub(crate) struct Notice {
    /// `ok` or `error`
    pub(crate) shape: &'static str,
    pub(crate) text: String,
    /// Where to look further: address with the prefix, and text.
    pub(crate) link: Option<(String, String)>,
}

/// Numbers in the navigation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Nav {
    pub(crate) attention: u64,
    pub(crate) dead: Count,
}

/// The pages of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    Overview,
    Queues,
    Jobs,
    Errors,
    Schedules,
    Events,
    Workers,
    Audit,
    Doctor,
    Keys,
    About,
}

parts!(Away);

impl Page {
    /// In groups, as the navigation shows them.
    pub(crate) const GROUPS: [&'static [Self]; 3] = [
        &[Self::Overview, Self::Queues, Self::Jobs, Self::Errors],
        &[Self::Schedules, Self::Events, Self::Workers],
        &[Self::Audit, Self::Doctor, Self::Keys, Self::About],
    ];

    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Overview => "/ui",
            Self::Queues => "/ui/queues",
            Self::Jobs => "/ui/jobs",
            Self::Errors => "/ui/errors",
            Self::Schedules => "/ui/schedules",
            Self::Events => "/ui/events",
            Self::Workers => "/ui/workers",
            Self::Audit => "/ui/audit",
            Self::Doctor => "/ui/doctor",
            Self::Keys => "/ui/keys",
            Self::About => "/ui/about",
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Queues => "Queues",
            Self::Jobs => "Jobs",
            Self::Errors => "Errors",
            Self::Schedules => "Schedules",
            Self::Events => "Events",
            Self::Workers => "Workers",
            Self::Audit => "Audit log",
            Self::Doctor => "Doctor",
            Self::Keys => "Keys",
            Self::About => "About",
        }
    }

    /// The letter after `g` that leads to the page; also the name of its icon.
    pub(crate) const fn letter(self) -> char {
        match self {
            Self::Overview => 'o',
            Self::Queues => 'q',
            Self::Jobs => 'j',
            Self::Errors => 'e',
            Self::Schedules => 's',
            Self::Events => 'v',
            Self::Workers => 'w',
            Self::Audit => 'a',
            Self::Doctor => 'd',
            Self::Keys => 'k',
            Self::About => 'b',
        }
    }
}

/// A number beside a page of the navigation.
pub(crate) struct Badge {
    pub(crate) count: Count,
    pub(crate) of: &'static str,
    pub(crate) is_warning: bool,
}

impl Shell {
    pub(crate) const fn groups(&self) -> [&'static [Page]; 3] {
        Page::GROUPS
    }

    pub(crate) fn badge(&self, page: &Page) -> Option<Badge> {
        let (count, of, is_warning) = match page {
            Page::Overview => (Count::exact(self.nav.attention), "need attention", true),
            Page::Errors => (self.nav.dead, "dead jobs", false),
            _ => return None,
        };
        (!count.is_zero()).then_some(Badge { count, of, is_warning })
    }

    /// Whether this is the page of the link, for `aria-current`.
    pub(crate) fn is_at(&self, page: &Page) -> bool {
        self.page == *page
    }

    /// Whether this is the environment that asks for most care.
    pub(crate) fn is_production(&self) -> bool {
        self.environment.as_deref().is_some_and(|name| name.starts_with("prod"))
    }
}
