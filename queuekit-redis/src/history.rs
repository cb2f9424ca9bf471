//! History (contract R8.5), in one slot. Rows are members of two sorted sets, in the order of their
//! bytes: the letter of the resolution, the beginning of the time as 13 digits, the queue, NUL, the
//! kind, NUL, the numbers.

use std::ops::Bound;
use std::str;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use queuekit_core::capability::History;
use queuekit_core::history::{
    HistoryPlace, HistoryQuery, Resolution, Runs, RunsAdded, RunsRow, TotalsRow, checked_runs,
};
use queuekit_core::queue::Totals;
use queuekit_core::{Kind, QueueName, Result, Timestamp};
use redis::cmd;

use crate::RedisStore;
use crate::call::Request;
use crate::codec::{array_of, bytes_of, millis, number_of};
use crate::error::unreadable;
use crate::keys::QueueKeys;
use crate::layout::HISTORY;
use crate::repeat::Call;
use crate::scripts::Lua;

/// The most queues that are asked at once.
const AT_ONCE: usize = 50;
/// The most queues whose names are read at once.
const QUEUES: usize = 1000;
/// The most rows that one step removes of each sort.
const STEP: usize = 1000;
/// The largest time of 13 digits.
const LAST: i64 = 9_999_999_999_999;

#[async_trait]
impl History for RedisStore {
    /// Notes the minute first, so that one process records it. If that process dies, its queues
    /// have no row of this minute.
    async fn record_totals(&self) -> Result<bool> {
        let store = self.for_one_call();
        let recorded = store.record().await;
        recorded.map_err(|error| error.during("record_totals"))
    }

    async fn add_runs(&self, runs: &[RunsAdded]) -> Result<()> {
        let runs = checked_runs(runs).map_err(|error| error.during("add_runs"))?;
        if runs.is_empty() {
            return Ok(());
        }
        let mut args = vec![self.shared.limits.history_pairs().to_string().into_bytes()];
        for RunsAdded { queue, kind, runs } in runs {
            let kind = kind.as_ref().map_or("", Kind::as_str);
            args.extend([queue.as_str(), kind, &runs.to_text()].map(|arg| arg.as_bytes().to_vec()));
        }
        let keys = vec![self.shared.keyspace.history()];
        let request = Request::Script { script: Lua::HistoryAdd, keys, args };
        self.call("add_runs", Call::Once, request).await.map(drop)
    }

    async fn list_totals(&self, query: &HistoryQuery) -> Result<Vec<TotalsRow>> {
        let rows = self.history_rows("list_totals", HISTORY.totals, query).await?;
        Ok(rows.iter().filter_map(|row| totals_row(row)).collect())
    }

    async fn list_runs(&self, query: &HistoryQuery) -> Result<Vec<RunsRow>> {
        let rows = self.history_rows("list_runs", HISTORY.runs, query).await?;
        Ok(rows.iter().filter_map(|row| runs_row(row)).collect())
    }
}

impl RedisStore {
    async fn record(&self) -> Result<bool> {
        let keys = vec![self.shared.keyspace.history()];
        let mark = Request::Script { script: Lua::HistoryMark, keys, args: Vec::new() };
        let noted = self.call("record_totals", Call::Repeatable, mark).await?;
        let now = bytes_of(noted).ok_or_else(|| unreadable("the mark of history"))?;
        if now.is_empty() {
            return Ok(false);
        }
        let mut after = None;
        loop {
            let from = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
            let queues = self.queues_from(from, QUEUES).await?;
            for queues in queues.chunks(AT_ONCE) {
                self.record_queues(&now, queues).await?;
            }
            after = queues.last().cloned();
            if queues.len() < QUEUES {
                return Ok(true);
            }
        }
    }

    async fn record_queues(&self, now: &[u8], queues: &[QueueName]) -> Result<()> {
        let call = Call::Repeatable;
        let ask = |queue| self.on_queue("record_totals", call, Lua::Totals, queue, []);
        let answers = try_join_all(queues.iter().map(ask)).await?;
        let mut args = vec![now.to_vec()];
        for (queue, answer) in queues.iter().zip(answers) {
            let text = bytes_of(answer).and_then(|text| String::from_utf8(text).ok());
            let totals = text.filter(|text| !text.is_empty()).and_then(|text| totals(&text));
            if let Some(totals) = totals {
                let numbers = totals.numbers().map(|number| number.to_string()).join(" ");
                args.extend([queue.as_str().as_bytes().to_vec(), numbers.into_bytes()]);
            }
        }
        if args.len() == 1 {
            return Ok(());
        }
        let keys = vec![self.shared.keyspace.history()];
        let put = Request::Script { script: Lua::HistoryPut, keys, args };
        self.call("record_totals", call, put).await.map(drop)
    }

    async fn history_rows(
        &self,
        operation: &'static str,
        part: usize,
        query: &HistoryQuery,
    ) -> Result<Vec<Vec<u8>>> {
        let keys = self.shared.keyspace.history();
        let key = keys[part].clone();
        let time = |at| of_time(query.resolution, at);
        let (from, to) = (time(query.begins()), time(query.to));
        let after = query.after.as_ref().map(|after| place(query.resolution, after));
        let most = query.limit.get().to_string();
        let request = match &query.queue {
            None => {
                let from = after.map_or_else(
                    || [b"[", &from[..]].concat(),
                    |after| [b"(", &after[..], b"\x01"].concat(),
                );
                let to = [b"(", &to[..]].concat();
                let mut command = cmd("ZRANGE");
                command.arg(&key).arg(from).arg(to).arg("BYLEX").arg("LIMIT").arg(0).arg(most);
                Request::Command { key, command }
            }
            Some(queue) => {
                let queue = queue.as_str().as_bytes().to_vec();
                let args = vec![from, to, queue, after.unwrap_or_default(), most.into_bytes()];
                let keys = vec![QueueKeys::from([key])];
                Request::Script { script: Lua::HistoryOfQueue, keys, args }
            }
        };
        let answer = self.call(operation, Call::Read, request).await?;
        let rows = array_of(answer).ok_or_else(|| unreadable("history"))?;
        Ok(rows.into_iter().filter_map(bytes_of).collect())
    }

    /// Removes what is too old. Returns how many rows were removed, and whether there may be more.
    pub(crate) async fn forget_history(&self) -> Result<(u64, bool)> {
        let kept = millis(Resolution::Hour.kept());
        let mut args = vec![STEP.to_string(), kept.to_string()];
        for resolution in Resolution::ALL {
            args.extend([letter(*resolution).to_owned(), millis(resolution.kept()).to_string()]);
        }
        let args = args.into_iter().map(String::into_bytes).collect();
        let keys = vec![self.shared.keyspace.history()];
        let request = Request::Script { script: Lua::HistoryForget, keys, args };
        let answer = self.call("prune", Call::Repeatable, request).await?;
        let mut numbers = array_of(answer).into_iter().flatten().filter_map(number_of);
        let removed = numbers.next().and_then(|removed| u64::try_from(removed).ok());
        let removed = removed.ok_or_else(|| unreadable("the answer to prune"))?;
        Ok((removed, numbers.next() == Some(1)))
    }
}

/// As in history_put.lua.
fn letter(resolution: Resolution) -> &'static str {
    match resolution {
        Resolution::Minute => "m",
        Resolution::TenMinutes => "t",
        Resolution::Hour => "h",
    }
}

/// How rows of this time begin.
fn of_time(resolution: Resolution, at: Timestamp) -> Vec<u8> {
    let at = at.as_millis().clamp(0, LAST);
    format!("{}{at:013}", letter(resolution)).into_bytes()
}

/// How the row at this place begins, without the NUL before its numbers.
fn place(resolution: Resolution, place: &HistoryPlace) -> Vec<u8> {
    let mut bytes = of_time(resolution, place.at);
    bytes.extend_from_slice(place.queue.as_str().as_bytes());
    bytes.push(0);
    bytes.extend_from_slice(place.kind_text().as_bytes());
    bytes
}

/// Reads the answer of totals.lua.
fn totals(text: &str) -> Option<Totals> {
    let numbers = numbers(text)?;
    let &[enqueued, ended, dead, cancelled, failed] = &numbers[..] else { return None };
    Some(Totals { enqueued, failed, ..Totals::of_ends(ended, dead, cancelled) })
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    text.split(' ').map(|number| number.parse().ok()).collect()
}

/// Time, queue, kind and the rest; none if it cannot be read as a row.
fn parts(row: &[u8]) -> Option<(Timestamp, QueueName, &str, &str)> {
    let row = str::from_utf8(row).ok()?;
    let at = row.get(1..14)?.parse().ok()?;
    let mut parts = row.get(14..)?.splitn(3, '\0');
    let queue = QueueName::new(parts.next()?).ok()?;
    Some((Timestamp::from_millis(at), queue, parts.next()?, parts.next()?))
}

fn totals_row(row: &[u8]) -> Option<TotalsRow> {
    let (at, queue, _, text) = parts(row)?;
    let (read_at, text) = text.split_once(' ')?;
    let (read_at, totals) = (read_at.parse().ok()?, Totals::from_numbers(&numbers(text)?)?);
    Some(TotalsRow { queue, at, read_at: Timestamp::from_millis(read_at), totals })
}

fn runs_row(row: &[u8]) -> Option<RunsRow> {
    let (at, queue, kind, text) = parts(row)?;
    let kind = if kind.is_empty() { None } else { Some(Kind::new(kind).ok()?) };
    Some(RunsRow { queue, kind, at, runs: Runs::from_text(text)? })
}
