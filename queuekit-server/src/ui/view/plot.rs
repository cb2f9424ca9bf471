//! A big chart as the server draws it: for viewers without scripts, and until the script has drawn.

use std::fmt::Write as _;

/// What the values of a chart are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Stacked: each series is drawn on top of the one before.
    Jobs,
    /// Lines of durations.
    Ms,
}

/// Values, one for each time; none where nothing is known.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: &'static str,
    /// The class that gives it its colour: a status, or `wait50`, `wait95`, `run50`, `run95`.
    pub(crate) class: &'static str,
    pub(crate) values: Vec<Option<u64>>,
}

/// A series as a path in a box of 600 x 200.
pub(crate) struct Shape {
    /// The class that gives it its colour.
    pub(crate) class: &'static str,
    pub(crate) path: String,
}

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 200.0;

/// The shapes of a chart: stacked bars of jobs, or lines of durations.
pub(super) fn shapes(unit: Unit, count: usize, series: &[Series]) -> Vec<Shape> {
    match unit {
        Unit::Jobs => bars(count, series),
        Unit::Ms => lines(count, series),
    }
}

fn bars(count: usize, all: &[Series]) -> Vec<Shape> {
    let at = |series: &Series, i: usize| series.values.get(i).copied().flatten().unwrap_or(0);
    let sum = |i| all.iter().fold(0_u64, |sum, one| sum.saturating_add(at(one, i)));
    let scale = HEIGHT / (0..count).map(sum).max().unwrap_or(0).max(4) as f64;
    let step = WIDTH / count.max(1) as f64;
    let mut below = vec![0_u64; count];
    let shape = |series: &Series| {
        let mut path = String::with_capacity(count * 24);
        for (i, from) in below.iter_mut().enumerate() {
            let value = at(series, i);
            let (x, y) = (i as f64 * step, HEIGHT - *from as f64 * scale);
            *from = from.saturating_add(value);
            if value > 0 {
                let (width, height) = (step * 0.78, value as f64 * scale);
                // Writing to a String cannot fail.
                let _ = write!(path, "M{x:.1} {y:.1}h{width:.1}v-{height:.1}h-{width:.1}z");
            }
        }
        Shape { class: series.class, path }
    };
    all.iter().map(shape).collect()
}

fn lines(count: usize, all: &[Series]) -> Vec<Shape> {
    let values = all.iter().flat_map(|series| series.values.iter().flatten());
    let scale = HEIGHT / (values.max().copied().unwrap_or(0).max(10) as f64 * 1.08);
    let step = WIDTH / (count.max(2) - 1) as f64;
    let shape = |series: &Series| {
        let mut path = String::with_capacity(series.values.len() * 12);
        let mut is_gap = true;
        for (i, value) in series.values.iter().enumerate() {
            let Some(value) = value else {
                is_gap = true;
                continue;
            };
            let letter = if is_gap { 'M' } else { 'L' };
            let (x, y) = (i as f64 * step, HEIGHT - *value as f64 * scale);
            // Writing to a String cannot fail.
            let _ = write!(path, "{letter}{x:.1} {y:.1}");
            is_gap = false;
        }
        Shape { class: series.class, path }
    };
    all.iter().map(shape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_stand_on_those_before_them() {
        let series =
            |name, values: &[Option<u64>]| Series { name, class: name, values: values.to_vec() };
        let all = [series("a", &[Some(30), None]), series("b", &[Some(10), Some(20)])];
        let paths: Vec<String> =
            shapes(Unit::Jobs, 2, &all).into_iter().map(|shape| shape.path).collect();
        assert_eq!(paths[0], "M0.0 200.0h234.0v-150.0h-234.0z");
        assert_eq!(paths[1], "M0.0 50.0h234.0v-50.0h-234.0zM300.0 200.0h234.0v-100.0h-234.0z");
    }
}
