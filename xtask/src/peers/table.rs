use std::fmt;

use serde::Deserialize;

use crate::error::{Error, Result};

/// By this name our programs call themselves.
const OURS: &str = "queuekit";

/// A line that one of the programs prints.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Measurement {
    peer: String,
    what: String,
    jobs: u64,
    seconds: f64,
    /// Only where it is measured how long jobs wait.
    #[serde(flatten)]
    waits: Option<Waits>,
    settings: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Waits {
    p50_ms: f64,
    p99_ms: f64,
}

impl Measurement {
    pub(crate) fn parse(line: &str) -> Result<Self> {
        serde_json::from_str(line)
            .map_err(|error| Error::failed(format!("peers: no measurement: {error} in `{line}`")))
    }

    pub(crate) fn named(self, what: &str) -> Self {
        Self { what: what.to_owned(), ..self }
    }
}

/// All measurements, shown as medians.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

/// One peer at one thing, in every round.
#[derive(Debug)]
struct Row {
    peer: String,
    what: String,
    rounds: Vec<Measurement>,
}

impl Table {
    pub(crate) fn add(&mut self, measurement: Measurement) {
        let same = |row: &&mut Row| row.what == measurement.what && row.peer == measurement.peer;
        match self.rows.iter_mut().find(same) {
            Some(row) => row.rounds.push(measurement),
            None => {
                let (peer, what) = (measurement.peer.clone(), measurement.what.clone());
                self.rows.push(Row { peer, what, rounds: vec![measurement] });
            }
        }
    }

    /// Of ours at the same thing, unless this row is ours or we have no program.
    fn ours(&self, row: &Row) -> Option<&Row> {
        let mut rows = self.rows.iter();
        rows.find(|ours| ours.peer == OURS && ours.what == row.what && row.peer != OURS)
    }

    /// How many times as long as ours the peer takes.
    fn ratio(&self, row: &Row, of: impl Fn(&Row) -> Range) -> String {
        self.ours(row)
            .map_or(String::new(), |ours| format!(" {:.2}", of(row).median / of(ours).median))
    }

    fn fmt_seconds(&self, f: &mut fmt::Formatter<'_>, rows: &[&Row]) -> fmt::Result {
        writeln!(f, "| what | peer | jobs | median | per second | range | our ratio to it |")?;
        writeln!(f, "|---|---|---|---|---|---|---|")?;
        for row in rows {
            let Row { what, peer, .. } = row;
            let (jobs, seconds) = (row.jobs(), row.seconds());
            let per_second = |seconds: f64| jobs as f64 / seconds;
            write!(f, "| {what} | {peer} | {jobs} | {:.3} s ", seconds.median)?;
            write!(f, "| {:.0} ", per_second(seconds.median))?;
            write!(f, "| {:.0} to {:.0} ", per_second(seconds.most), per_second(seconds.least))?;
            writeln!(f, "|{} |", self.ratio(row, Row::seconds))?;
        }
        Ok(())
    }

    fn fmt_waits(&self, f: &mut fmt::Formatter<'_>, rows: &[&Row]) -> fmt::Result {
        writeln!(f, "\n| what | peer | jobs | p50 | range | p99 | range | our ratio at p50 |")?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        for row in rows {
            write!(f, "| {} | {} | {} ", row.what, row.peer, row.jobs())?;
            for waits in [row.p50(), row.p99()] {
                write!(f, "| {:.2} ms | {:.2} to {:.2} ", waits.median, waits.least, waits.most)?;
            }
            writeln!(f, "|{} |", self.ratio(row, Row::p50))?;
        }
        Ok(())
    }
}

/// A figure over all rounds.
struct Range {
    least: f64,
    median: f64,
    most: f64,
}

impl Row {
    fn jobs(&self) -> u64 {
        self.rounds.first().map_or(0, |first| first.jobs)
    }

    fn has_waits(&self) -> bool {
        self.rounds.iter().all(|round| round.waits.is_some())
    }

    fn seconds(&self) -> Range {
        Range::over(self.rounds.iter().map(|round| round.seconds))
    }

    fn p50(&self) -> Range {
        Range::over(self.rounds.iter().filter_map(|round| Some(round.waits.as_ref()?.p50_ms)))
    }

    fn p99(&self) -> Range {
        Range::over(self.rounds.iter().filter_map(|round| Some(round.waits.as_ref()?.p99_ms)))
    }
}

impl Range {
    /// Of an even number, the larger one in the middle is the median. There is at least one.
    fn over(figures: impl Iterator<Item = f64>) -> Self {
        let mut figures: Vec<f64> = figures.collect();
        figures.sort_by(f64::total_cmp);
        let median = figures[figures.len() / 2];
        Self { least: figures[0], median, most: figures[figures.len() - 1] }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (waits, seconds): (Vec<&Row>, _) = self.rows.iter().partition(|row| row.has_waits());
        if !seconds.is_empty() {
            self.fmt_seconds(f, &seconds)?;
        }
        if !waits.is_empty() {
            self.fmt_waits(f, &waits)?;
        }
        // The settings are the same in every row of a peer.
        let mut shown: Vec<&str> = Vec::new();
        for Measurement { peer, settings, .. } in self.rows.iter().flat_map(|row| &row.rounds) {
            if !shown.contains(&peer.as_str()) {
                write!(f, "\n{peer}: {settings}")?;
                shown.push(peer);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(peer: &str, seconds: f64) -> String {
        format!(
            "{{\"peer\":{peer:?},\"what\":\"bulk\",\"jobs\":1000,\"seconds\":{seconds},\
             \"per_second\":1,\"settings\":\"journal_mode=wal\"}}\n"
        )
    }

    #[test]
    fn a_ratio_over_one_means_that_we_are_faster() {
        let mut table = Table::default();
        for (peer, seconds) in
            [("queuekit", 0.5), ("b", 9.0), ("queuekit", 0.1), ("b", 1.0), ("b", 0.5)]
        {
            table.add(Measurement::parse(&line(peer, seconds)).unwrap());
        }
        let shown = table.to_string();
        assert!(shown.contains("| bulk | queuekit | 1000 | 0.500 s | 2000 | 2000 to 10000 | |"));
        assert!(shown.contains("| bulk | b | 1000 | 1.000 s | 1000 | 111 to 2000 | 2.00 |"));
        assert!(shown.ends_with("\nqueuekit: journal_mode=wal\nb: journal_mode=wal"), "{shown}");
    }

    #[test]
    fn without_a_program_of_ours_nothing_is_compared() {
        let mut table = Table::default();
        for (peer, seconds) in [("a", 0.5), ("b", 1.0)] {
            table.add(Measurement::parse(&line(peer, seconds)).unwrap());
        }
        assert!(
            table.to_string().contains("| bulk | b | 1000 | 1.000 s | 1000 | 1000 to 1000 | |")
        );
    }

    #[test]
    fn waits_have_a_table_of_their_own() {
        let mut table = Table::default();
        for (peer, p50, p99) in [("queuekit", 2.0, 4.0), ("b", 1.0, 9.5), ("b", 3.0, 8.0)] {
            let figures = format!("0.1,\"p50_ms\":{p50},\"p99_ms\":{p99},\"per_second\":");
            let line = line(peer, 0.1).replace("bulk", "idle");
            let line = line.replace("0.1,\"per_second\":", &figures);
            table.add(Measurement::parse(&line).unwrap());
        }
        let shown = table.to_string();
        let row = "| idle | b | 1000 | 3.00 ms | 1.00 to 3.00 | 9.50 ms | 8.00 to 9.50 | 1.50 |";
        assert!(shown.contains(row), "{shown}");
        assert!(!shown.contains("per second"), "{shown}");
    }

    #[test]
    fn what_is_no_measurement_is_shown() {
        let error = Measurement::parse("warning: no").unwrap_err().to_string();
        assert!(error.contains("`warning: no`"), "{error}");
    }
}
