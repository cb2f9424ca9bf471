use std::fmt;

use serde::Deserialize;

use crate::error::{Error, Result};

/// A line that one of the programs prints.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Measurement {
    peer: String,
    what: String,
    jobs: u64,
    seconds: f64,
    settings: String,
}

impl Measurement {
    pub(crate) fn parse(line: &str) -> Result<Self> {
        serde_json::from_str(line)
            .map_err(|error| Error::failed(format!("peers: no measurement: {error} in `{line}`")))
    }
}

/// All measurements, shown as medians.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

/// One peer at one thing.
#[derive(Debug)]
struct Row {
    first: Measurement,
    seconds: Vec<f64>,
}

impl Table {
    pub(crate) fn add(&mut self, measurement: Measurement) {
        let same = |row: &&mut Row| {
            row.first.what == measurement.what && row.first.peer == measurement.peer
        };
        match self.rows.iter_mut().find(same) {
            Some(row) => row.seconds.push(measurement.seconds),
            None => {
                let seconds = vec![measurement.seconds];
                self.rows.push(Row { first: measurement, seconds });
            }
        }
    }

    /// Of the first peer at the same thing: that is ours.
    fn ours(&self, what: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.first.what == what)
    }
}

impl Row {
    /// Of an even number, the slower one in the middle.
    fn median(&self) -> f64 {
        let mut seconds = self.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    }

    fn per_second(&self, seconds: f64) -> f64 {
        self.first.jobs as f64 / seconds
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | peer | jobs | median | per second | range | our ratio to it |")?;
        writeln!(f, "|---|---|---|---|---|---|---|")?;
        for row in &self.rows {
            let Measurement { what, peer, jobs, .. } = &row.first;
            let median = row.median();
            let least = row.seconds.iter().copied().fold(f64::INFINITY, f64::min);
            let most = row.seconds.iter().copied().fold(0.0, f64::max);
            write!(f, "| {what} | {peer} | {jobs} | {median:.3} s ")?;
            write!(f, "| {:.0} ", row.per_second(median))?;
            write!(f, "| {:.0} to {:.0} |", row.per_second(most), row.per_second(least))?;
            match self.ours(what) {
                Some(ours) if ours.first.peer != *peer => {
                    writeln!(f, " {:.2} |", median / ours.median())?;
                }
                _ => writeln!(f, " |")?,
            }
        }
        // The settings are the same in every row of a peer.
        let mut shown: Vec<&str> = Vec::new();
        for Measurement { peer, settings, .. } in self.rows.iter().map(|row| &row.first) {
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
            [("ours", 0.5), ("other", 9.0), ("ours", 0.1), ("other", 1.0), ("other", 0.5)]
        {
            table.add(Measurement::parse(&line(peer, seconds)).unwrap());
        }
        let shown = table.to_string();
        assert!(shown.contains("| bulk | ours | 1000 | 0.500 s | 2000 | 2000 to 10000 | |"));
        assert!(shown.contains("| bulk | other | 1000 | 1.000 s | 1000 | 111 to 2000 | 2.00 |"));
        assert!(shown.ends_with("\nours: journal_mode=wal\nother: journal_mode=wal"), "{shown}");
    }

    #[test]
    fn what_is_no_measurement_is_shown() {
        let error = Measurement::parse("warning: no").unwrap_err().to_string();
        assert!(error.contains("`warning: no`"), "{error}");
    }
}
