use std::fmt::Write;
use std::time::Duration;

/// What both versions took for one thing, in every round.
#[derive(Debug)]
pub(super) struct Pairs {
    pub(super) what: &'static str,
    /// How many runs of a version are one measurement.
    pub(super) runs: u32,
    /// The seconds of one run, on average.
    rounds: Vec<(f64, f64)>,
}

impl Pairs {
    pub(super) fn new(what: &'static str, runs: u32) -> Self {
        Self { what, runs, rounds: Vec::new() }
    }

    /// Adds the time of all runs before, and now.
    pub(super) fn add(&mut self, took: [Duration; 2]) {
        let [before, after] = took.map(|took| took.as_secs_f64() / f64::from(self.runs));
        self.rounds.push((before, after));
    }

    /// How many times as much this version costs: the median of the rounds.
    pub(super) fn median(&self) -> f64 {
        median(&self.ratios())
    }

    fn ratios(&self) -> Vec<f64> {
        sorted(self.rounds.iter().map(|(before, after)| after / before))
    }

    /// In which range the median is, with a probability of at least 95 %.
    fn interval(&self) -> (f64, f64) {
        let ratios = self.ratios();
        let skipped = skipped(ratios.len());
        (ratios[skipped], ratios[ratios.len() - 1 - skipped])
    }
}

/// A row of each thing.
pub(super) fn table(all: &[Pairs]) -> String {
    let mut table =
        "| what | runs | before | now | ratio | 95 % interval |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for pairs in all.iter().filter(|pairs| !pairs.rounds.is_empty()) {
        let before = median(&sorted(pairs.rounds.iter().map(|round| round.0)));
        let after = median(&sorted(pairs.rounds.iter().map(|round| round.1)));
        let (from, to) = pairs.interval();
        let (what, runs, ratio) = (pairs.what, pairs.runs, pairs.median());
        let row = format!(
            "| {what} | {runs} | {before:.3} s | {after:.3} s | {ratio:.3} | {from:.3} to {to:.3} |"
        );
        let _ = writeln!(table, "{row}");
    }
    table
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    } else {
        sorted[middle]
    }
}

/// How many of the lowest and of the highest values are outside of the interval. Each value is
/// below the median with a probability of one half.
fn skipped(values: usize) -> usize {
    let (mut outside, mut ways) = (0.0, 0.5_f64.powi(i32::try_from(values).unwrap_or(i32::MAX)));
    let mut skipped = 0;
    loop {
        outside += ways;
        if outside > 0.025 || skipped >= values / 2 {
            return skipped.saturating_sub(1);
        }
        ways *= (values - skipped) as f64 / (skipped + 1) as f64;
        skipped += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_sign_test() {
        // Of 9 values the lowest and the highest are outside of an interval of 96 %.
        let known = [(1, 0), (5, 0), (6, 0), (8, 0), (9, 1), (11, 1), (12, 2), (20, 5)];
        assert_eq!(known.map(|(values, _)| (values, skipped(values))), known);
    }

    #[test]
    fn rounds_become_a_row() {
        let mut pairs = Pairs::new("drain", 10);
        for took in [[1000, 1000], [2000, 2200], [1000, 1100]] {
            pairs.add(took.map(Duration::from_millis));
        }
        let row = "| drain | 10 | 0.100 s | 0.110 s | 1.100 | 1.000 to 1.100 |";
        assert!(table(&[pairs]).contains(row));
    }
}
