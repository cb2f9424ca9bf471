//! The layout of what is stored: the one table of the fields of records, and of the keys of a
//! queue, for Rust and for Lua.
//!
//! A record begins with its head: fields of fixed widths. Numbers in it are hexadecimal, times in
//! ms among them, unless the table says otherwise. [`lua::inline`] puts the numbers of this table
//! into the scripts in place of its names.

pub(crate) mod bytes;
pub(crate) mod lua;

use std::ops::Range;

/// Bytes of a time in ms, as hexadecimal and as decimal digits.
const TIME: usize = 11;
const DECIMAL_TIME: usize = 13;
/// Bytes of the number of a job, an end, an event or a lease.
const SEQUENCE: usize = 12;
/// Bytes of the id of a job or event.
const ID: usize = 16;

/// A record as a list: its name, its fields in order, and its spans, each of several fields.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) name: &'static str,
    pub(crate) fields: Vec<(&'static str, Range<usize>)>,
    pub(crate) spans: Vec<(&'static str, Range<usize>)>,
}

/// A list of keys: its name, and of each key the part by which it ends, and its index.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    pub(crate) name: &'static str,
    pub(crate) keys: Vec<(&'static str, usize)>,
}

/// Makes a constant of each record, with the place of each field and span, and [`records`] of all.
macro_rules! records {
    ($(
        $(#[$doc:meta])*
        $record:ident $type:ident {
            $($(#[$about:meta])* $field:ident: $width:expr,)*
            $(; $($(#[$why:meta])* $span:ident: $first:ident..$last:ident,)*)?
        }
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub(crate) struct $type {
                $($(#[$about])* pub(crate) $field: Range<usize>,)*
                $($($(#[$why])* pub(crate) $span: Range<usize>,)*)?
                /// All fields.
                pub(crate) head: Range<usize>,
            }

            pub(crate) const $record: $type = {
                let mut end = 0;
                $(
                    let start = end;
                    end += $width;
                    let $field = start..end;
                )*
                $($(let $span = $first.start..$last.end;)*)?
                $type { $($field,)* $($($span,)*)? head: 0..end }
            };
        )*

        /// All records.
        pub(crate) fn records() -> Vec<Record> {
            let mut records = vec![$(Record {
                name: stringify!($record),
                fields: vec![$((stringify!($field), $record.$field)),*],
                spans: vec![
                    $($((stringify!($span), $record.$span),)*)?
                    ("head", $record.head),
                ],
            }),*];
            let written = records.iter().find(|record| record.name == "DATA");
            records.extend(written.map(|data| data.from("STATIC", DATA.version.start)));
            records
        }
    };
}

/// Makes a constant of each list, with the index of each key, and [`keys`] of all.
macro_rules! keys {
    ($($(#[$doc:meta])* $list:ident $type:ident { $($key:ident),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub(crate) struct $type {
                $(pub(crate) $key: usize,)*
                pub(crate) parts: &'static [&'static str],
            }

            pub(crate) const $list: $type = {
                let mut count = 0;
                $(
                    let $key = count;
                    count += 1;
                )*
                let parts: &[&str] = &[$(stringify!($key)),*];
                assert!(parts.len() == count, "each key has its part");
                $type { $($key,)* parts }
            };
        )*

        /// All lists of keys.
        pub(crate) fn keys() -> Vec<Keys> {
            vec![$(Keys {
                name: stringify!($list),
                keys: vec![$((stringify!($key), $list.$key)),*],
            }),*]
        }
    };
}

records! {
    /// A job's data, written once. After the head: the partition key, the idempotency key, what
    /// only the client reads, and the payload. The client writes it from the version on; that part
    /// alone is `STATIC`.
    DATA Data {
        seq: SEQUENCE,
        scheduled: TIME,
        /// 0 if none.
        deadline: TIME,
        created: TIME,
        version: 1,
        /// The highest priority has the lowest.
        level: 2,
        /// 1 if its idempotency key is free once it has ended, 2 if its payload is the number of an
        /// event that has the data, else 0.
        flag: 1,
        max_attempts: 3,
        /// Bytes of the partition key.
        key: 3,
        /// Bytes of the idempotency key.
        unique: 3,
        /// Bytes of the payload.
        payload: 7,
        ;
        timing: seq..deadline,
        /// What the client writes, with all that follows the head.
        written: version..payload,
        keys: key..unique,
    }

    /// A job's state, absent until the first lease or change. After the head: the partition key,
    /// the worker, NUL, the reason.
    STATE State {
        /// One of p r c x n: pending, running, completed, dead, cancelled.
        state: 1,
        /// 1 if a cancel was requested.
        cancel: 1,
        attempts: 4,
        releases: 8,
        lease_seq: SEQUENCE,
        /// Any bytes.
        nonce: 16,
        seq: SEQUENCE,
        scheduled: TIME,
        deadline: TIME,
        started: TIME,
        finished: TIME,
        end_seq: SEQUENCE,
        /// Bytes of the payload and the result.
        size: 8,
        /// 1 if it has an idempotency key.
        has_unique: 1,
        /// Bytes of the partition key.
        key: 3,
        ;
        counts: attempts..lease_seq,
        /// What a lease has to show.
        token: lease_seq..nonce,
        timing: seq..deadline,
    }

    /// A member of `ready`, `leased`, `held`, `running` and the sets of ended jobs. After the head
    /// of one in `ready` or `leased`: its partition key.
    ENTRY Entry {
        seq: SEQUENCE,
        id: ID,
    }

    /// A member of `waiting` and `due`, after the partition key and NUL.
    WAITING Waiting {
        seq: SEQUENCE,
        id: ID,
        at: TIME,
        level: 2,
        ;
        entry: seq..id,
    }

    /// A member of `later`, after the partition key and NUL.
    LATER Later {
        at: TIME,
        seq: SEQUENCE,
        id: ID,
        level: 2,
        ;
        entry: seq..id,
    }

    /// A member of `places`.
    PLACE Place {
        level: 2,
        at: TIME,
        seq: SEQUENCE,
        id: ID,
        ;
        order: level..at,
        entry: seq..id,
    }

    /// A place in a sorted set: the score, in decimal digits, then the member.
    SCORED Scored {
        score: 17,
    }

    /// A text that begins with a letter or sign that says what follows.
    TAGGED Tagged {
        tag: 1,
    }

    /// A partition key with waiting or running jobs. After the head: the entry of its job in
    /// `ready`.
    PARTITION Partition {
        turn: SEQUENCE,
        /// 1 if it has an alarm.
        alarm: 1,
        /// Where it is: P in `ready`, G in `turns`, T in `alarms`, - nowhere.
        stands: 1,
        /// How many of its jobs run.
        running: 4,
    }

    /// The holder of an idempotency key. Before its job has ended, the id alone; once retention has
    /// removed the job, P after the head.
    UNIQUE Unique {
        id: ID,
        /// When the key becomes free, in decimal digits.
        free_at: DECIMAL_TIME,
    }

    /// One of the errors or log lines of a job.
    NOTE Note {
        /// Bytes of what follows, in decimal digits.
        length: 8,
    }

    /// An error of a job, after the head of a note. After its own: the worker, NUL, the text; since
    /// version 2 also NUL, and when its lease was granted.
    FAILURE Failure {
        attempts: 4,
        lease_seq: SEQUENCE,
        /// In decimal digits.
        at: DECIMAL_TIME,
        ;
        lease: attempts..lease_seq,
    }

    /// A release of a job, after the head of a note. After its own: the worker, NUL, the cause; if
    /// the payload could not be read, also NUL, and the mark as core writes it.
    RELEASE Release {
        lease_seq: SEQUENCE,
        /// In decimal digits.
        at: DECIMAL_TIME,
        /// When the lease was granted.
        started: TIME,
    }

    /// An error group of a queue. After the head, since version 8: its errors by hour and by day
    /// before the last one, as core writes them.
    GROUP Group {
        failures: SEQUENCE,
        deaths: SEQUENCE,
        first: TIME,
        last: TIME,
        /// The job that it was last added to for.
        sample: ID,
    }

    /// A log line of a job, after the head of a note. After its own: the text.
    LINE Line {
        /// In decimal digits.
        at: DECIMAL_TIME,
    }

    /// The result of a step of a job, after the head of a note. After its own: the name, and the
    /// result.
    CHECKPOINT CheckpointNote {
        /// In decimal digits.
        at: DECIMAL_TIME,
        /// Bytes of the name.
        name: 2,
    }

    /// An event. After the head: type, partition key and idempotency key, metadata as JSON or
    /// nothing, and the data unless it is apart.
    EVENT Event {
        emitted: TIME,
        version: 1,
        /// 1 if the data is in the log's `data`.
        apart: 1,
        /// Bytes of the type.
        kind: 3,
        /// Bytes of the partition key.
        key: 3,
        /// Bytes of the idempotency key.
        unique: 3,
        /// Bytes of the data.
        data: 7,
        ;
        /// What the client writes, with what follows the head.
        written: version..data,
    }

    /// A delivery that has no copy of its event's data. Between its two fields: the name of the
    /// queue.
    DELIVERY Delivery {
        /// Bytes of the name.
        name: 2,
        id: ID,
    }

    /// The number of an event. A delivery whose data is with its event has it for its payload.
    NUMBER Number {
        number: SEQUENCE,
    }

    /// The beat of a worker. After the head: its content as JSON.
    BEAT Beat {
        /// In decimal digits.
        at: DECIMAL_TIME,
    }

    /// The answer to an enqueue of a job that is stored already.
    SAME Same {
        now: TIME,
        created: TIME,
    }
}

keys! {
    /// The keys of a queue.
    QUEUE Queue {
        meta, data, state, leased, ready, completed, dead, cancelled, notes, failed, unique,
        unique_free, ends, wake, partition_keys, waiting, places, due, later, turns, alarms, held,
        running, groups, group_times,
    }

    /// The keys of a queue that an enqueue of plain jobs needs.
    PLAIN Plain { meta, data, ready, wake }

    /// The keys of a queue that show whether its jobs still need their payloads.
    JOBS Jobs { data, state }

    /// The keys of the log of events.
    LOG Log { meta, order, records, data, keys, deliveries, held }

    /// The keys of schedules.
    SCHEDULES Schedules { rows, names, due, revision }

    /// The keys of history.
    HISTORY History { mark, totals, runs, pairs }

    /// The keys of workers.
    WORKERS Workers { beats, expiry, ids, orders }
}

impl Record {
    /// The part of a record from a field on.
    fn from(&self, name: &'static str, start: usize) -> Self {
        let later = |parts: &[(&'static str, Range<usize>)]| -> Vec<(&'static str, Range<usize>)> {
            let later = parts.iter().filter(|(_, at)| at.start >= start);
            later.map(|(part, at)| (*part, at.start - start..at.end - start)).collect()
        };
        let mut spans = later(&self.spans);
        spans.push(("head", 0..self.len() - start));
        Self { name, fields: later(&self.fields), spans }
    }

    /// A field or span.
    pub(crate) fn part(&self, name: &str) -> Option<Range<usize>> {
        let parts = self.fields.iter().chain(&self.spans);
        parts.into_iter().find(|(part, _)| *part == name).map(|(_, at)| at.clone())
    }

    /// Bytes of the head.
    pub(crate) fn len(&self) -> usize {
        self.fields.last().map_or(0, |(_, at)| at.end)
    }
}
