//! A small line chart, drawn by the server.

use std::fmt::Write as _;

use askama::Template;

use super::parts;

/// A line over the last minutes; it scales to its own largest value.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/sparkline.html")]
pub(crate) struct Sparkline {
    /// Oldest first.
    pub(crate) values: Vec<u64>,
    /// What it shows, for those who do not see it: `12 jobs/min now, 40 at most in the last hour`.
    pub(crate) label: String,
}

parts!(Sparkline);

const WIDTH: f64 = 96.0;
const HEIGHT: f64 = 24.0;
/// Half of the stroke's width must stay inside.
const MARGIN: f64 = 1.5;

impl Sparkline {
    pub(crate) fn is_flat(&self) -> bool {
        self.values.iter().all(|value| *value == 0)
    }

    /// The points of the line: `M0,12.0 L10,3.5 ..`.
    pub(crate) fn line(&self) -> String {
        let most = self.values.iter().max().copied().unwrap_or(0).max(1) as f64;
        let step = WIDTH / (self.values.len().max(2) - 1) as f64;
        let mut path = String::with_capacity(self.values.len() * 12);
        for (at, value) in self.values.iter().enumerate() {
            let x = at as f64 * step;
            let y = HEIGHT - MARGIN - *value as f64 / most * (HEIGHT - 2.0 * MARGIN);
            let letter = if at == 0 { 'M' } else { 'L' };
            // Writing to a String cannot fail.
            let _ = write!(path, "{letter}{x:.1},{y:.1}");
        }
        path
    }

    /// The line, closed along the bottom.
    pub(crate) fn area(&self) -> String {
        format!("{}L{WIDTH},{HEIGHT}L0,{HEIGHT}Z", self.line())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_inside_its_box() {
        let of = |values: &[u64]| Sparkline { values: values.to_vec(), label: String::new() };
        assert_eq!(of(&[0, 5, 10]).line(), "M0.0,22.5L48.0,12.0L96.0,1.5");
        assert_eq!(of(&[]).line(), "");
        assert_eq!(of(&[7]).line(), "M0.0,1.5");
        assert!(of(&[0, 0]).is_flat() && !of(&[0, 1]).is_flat());
        assert!(!of(&[u64::MAX, 1]).line().contains("NaN"));
    }
}
