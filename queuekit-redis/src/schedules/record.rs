//! The stored form of a schedule's row: its revision, then fields, each after its length.

use bytes::Bytes;
use queuekit_core::{QueueName, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    Settled(State),
    Noted(Noted),
}

/// The content of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) next_at: Option<Timestamp>,
    pub(super) body: Bytes,
}

/// A noted change: its jobs have to be stored before the row takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Noted {
    /// The content of the row until then, if there is one.
    pub(super) from: Option<State>,
    /// The revision of that content.
    pub(super) seen: Option<u64>,
    /// The content after the change; none if the change removes the row.
    pub(super) to: Option<State>,
    pub(super) queue: QueueName,
    /// The arguments of enqueue.lua, from its second on.
    pub(super) jobs: Vec<Vec<u8>>,
}

impl State {
    pub(super) fn new(next_at: Option<Timestamp>, body: Bytes) -> Self {
        Self { next_at, body }
    }

    fn fields(state: Option<&Self>) -> [Vec<u8>; 3] {
        let next_at = state.and_then(|state| state.next_at);
        let next_at = next_at.map_or(String::new(), |next_at| next_at.as_millis().to_string());
        let is_there = u8::from(state.is_some()).to_string();
        let body = state.map_or(Vec::new(), |state| state.body.to_vec());
        [is_there.into_bytes(), next_at.into_bytes(), body]
    }

    /// Reads a state; none if the fields are malformed, an inner none if they say that there is no
    /// state.
    fn read(fields: &mut impl Iterator<Item = Bytes>) -> Option<Option<Self>> {
        let [is_there, next_at, body] = [fields.next()?, fields.next()?, fields.next()?];
        let next_at = match &next_at[..] {
            b"" => None,
            millis => Some(Timestamp::from_millis(std::str::from_utf8(millis).ok()?.parse().ok()?)),
        };
        Some((is_there == "1").then_some(Self { next_at, body }))
    }
}

impl Record {
    /// When the row has to be looked at, in ms: at once if it has a note.
    pub(super) fn due(&self) -> Option<i64> {
        match self {
            Self::Settled(state) => state.next_at.map(Timestamp::as_millis),
            Self::Noted(_) => Some(0),
        }
    }

    /// The record after the revision.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        match self {
            Self::Settled(state) => fields.extend(State::fields(Some(state))),
            Self::Noted(noted) => {
                fields.extend(State::fields(noted.from.as_ref()));
                let seen = noted.seen.map_or(String::new(), |seen| seen.to_string());
                fields.push(seen.into_bytes());
                fields.extend(State::fields(noted.to.as_ref()));
                fields.push(noted.queue.as_str().into());
                fields.extend(noted.jobs.iter().cloned());
            }
        }
        let mut record = Vec::new();
        for field in fields {
            record.extend_from_slice(format!(" {}:", field.len()).as_bytes());
            record.extend(field);
        }
        record
    }

    /// Reads a record and its revision; none if it is malformed.
    pub(super) fn read(record: Vec<u8>) -> Option<(u64, Self)> {
        let digits = record.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let revision = std::str::from_utf8(&record[..digits]).ok()?.parse().ok()?;
        let mut fields = fields(Bytes::from(record).slice(digits..))?.into_iter();
        let state = State::read(&mut fields)?;
        if fields.len() == 0 {
            return Some((revision, Self::Settled(state?)));
        }
        let seen = std::str::from_utf8(&fields.next()?).ok()?.parse().ok();
        let to = State::read(&mut fields)?;
        let queue = QueueName::new(std::str::from_utf8(&fields.next()?).ok()?).ok()?;
        let jobs = fields.map(|field| field.to_vec()).collect();
        Some((revision, Self::Noted(Noted { from: state, seen, to, queue, jobs })))
    }
}

fn fields(mut rest: Bytes) -> Option<Vec<Bytes>> {
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let colon = rest.iter().position(|byte| *byte == b':')?;
        let length: usize = std::str::from_utf8(rest.get(1..colon)?).ok()?.parse().ok()?;
        let end = colon.checked_add(1)?.checked_add(length).filter(|end| *end <= rest.len())?;
        fields.push(rest.slice(colon + 1..end));
        rest = rest.slice(end..);
    }
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(body: &'static [u8]) -> State {
        State::new(Some(Timestamp::from_millis(-5)), Bytes::from_static(body))
    }

    fn read_again(record: &Record) -> Option<(u64, Record)> {
        let mut written = b"17".to_vec();
        written.extend(record.write());
        Record::read(written)
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let jobs = vec![b"1:2 3".to_vec(), Vec::new(), vec![0, 255, b':']];
        let queue = QueueName::new("mail").unwrap();
        let to = Some(State::new(None, Bytes::new()));
        let noted = Noted { from: Some(state(b"\n:\0")), seen: Some(16), to, queue, jobs };
        let removes = Noted { to: None, ..noted.clone() };
        let made = Noted { from: None, seen: None, ..noted.clone() };
        let settled = Record::Settled(state(b" 3:abc"));
        for record in [settled, Record::Noted(noted), Record::Noted(removes), Record::Noted(made)] {
            assert_eq!(read_again(&record), Some((17, record)));
        }
    }

    #[test]
    fn what_is_no_record_is_none() {
        for text in ["", "17", "17 0:", "x 1:1 0: 0:", "17 1:1 0: 9:abc", "17 1:1 1:x 0:"] {
            assert_eq!(Record::read(text.into()), None, "{text}");
        }
    }
}
