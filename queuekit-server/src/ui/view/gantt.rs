//! The life of a job as one bar: when it waited, ran, and waited for its retry.

use askama::Template;

use super::{Ms, parts};

/// A bar; lengths are shares of the whole time.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/gantt.html")]
pub(crate) struct Gantt {
    pub(crate) parts: Vec<Stretch>,
}

/// A part of the time.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    /// `waited`, `backoff`, or how a run ended: `completed`, `failed`, `dead`, `running`,
    /// `released`.
    pub(crate) class: &'static str,
    /// `attempt 1`
    pub(crate) name: String,
    pub(crate) ms: u64,
}

/// A part, placed on a line of 1,000 units.
pub(crate) struct Placed<'a> {
    pub(crate) stretch: &'a Stretch,
    pub(crate) x: u64,
    pub(crate) width: u64,
}

parts!(Gantt);

const WIDTH: u64 = 1000;
/// The least that is still seen.
const LEAST: u64 = 6;

impl Placed<'_> {
    pub(crate) fn lasted(&self) -> Ms {
        Ms(self.stretch.ms)
    }
}

impl Gantt {
    /// The parts from left to right; short ones are drawn longer than they were.
    pub(crate) fn placed(&self) -> Vec<Placed<'_>> {
        let count = self.parts.len() as u64;
        let total = self.total().max(1);
        let free = WIDTH.saturating_sub(count * LEAST);
        let mut x = 0;
        let place = |stretch| {
            let Stretch { ms, .. }: &Stretch = stretch;
            let share = u128::from(*ms) * u128::from(free) / total;
            let width = LEAST + u64::try_from(share).unwrap_or(free);
            let placed = Placed { stretch, x, width: width - 2 };
            x += width;
            placed
        };
        self.parts.iter().map(place).collect()
    }

    fn total(&self) -> u128 {
        self.parts.iter().map(|part| u128::from(part.ms)).sum()
    }

    /// `waited 4ms, attempt 1 ran 2.1s, ..`
    pub(crate) fn label(&self) -> String {
        if self.parts.is_empty() {
            return "has not run".to_owned();
        }
        let part = |part: &Stretch| format!("{} {}", part.name, Ms(part.ms));
        self.parts.iter().map(part).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_endless_parts_stay_within_the_bar() {
        let part = |ms| Stretch { class: "waited", name: "waited".to_owned(), ms };
        let gantt = Gantt { parts: [0, 1, u64::MAX, 5, u64::MAX].map(part).to_vec() };
        let placed = gantt.placed();
        assert!(placed.iter().all(|part| part.width >= LEAST - 2));
        assert!(placed.windows(2).all(|two| two[0].x + two[0].width < two[1].x));
        let last = placed.last().unwrap();
        assert!(last.x + last.width <= WIDTH, "{} {}", last.x, last.width);
    }
}
