//! What a job's runs have left: failures, releases, log lines and progress.

use queuekit_core::{
    Bytes, Checkpoint, CheckpointName, ErrorText, Failure, LogLine, Progress, Release, Undecodable,
    WorkerId,
};

use crate::layout::bytes::Parts;
use crate::layout::{CHECKPOINT, FAILURE, LINE, NOTE, RELEASE};

pub(super) fn failures(bytes: &[u8]) -> Vec<Failure> {
    entries(bytes).filter_map(failure).collect()
}

pub(super) fn releases(bytes: &[u8]) -> Vec<Release> {
    entries(bytes).filter_map(release).collect()
}

pub(super) fn log_lines(bytes: &[u8]) -> Vec<LogLine> {
    entries(bytes).filter_map(log_line).collect()
}

pub(crate) fn checkpoints(bytes: &[u8]) -> Vec<Checkpoint> {
    entries(bytes).filter_map(checkpoint).collect()
}

fn entries(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_at_checked(NOTE.head.end)?;
        let length = std::str::from_utf8(length).ok()?.parse().ok()?;
        let (entry, rest) = rest.split_at_checked(length)?;
        bytes = rest;
        Some(entry)
    })
}

fn failure(entry: &[u8]) -> Option<Failure> {
    let parts = Parts(entry);
    let mut tail = entry.get(FAILURE.head.end..)?.splitn(3, |byte| *byte == 0);
    let (worker, error) = (std::str::from_utf8(tail.next()?).ok()?, tail.next()?);
    // Version 1 did not record when the run started.
    let started = tail.next().and_then(|digits| Parts(digits).time(0..digits.len()));
    Some(Failure {
        attempt: u32::try_from(parts.hex(FAILURE.attempts)?).ok()?,
        lease_seq: parts.hex(FAILURE.lease_seq)?,
        at: parts.decimal_time(FAILURE.at)?,
        started_at: started.filter(|at| at.as_millis() != 0),
        worker: WorkerId::new(worker).ok(),
        error: ErrorText::from_bytes(error),
    })
}

fn release(entry: &[u8]) -> Option<Release> {
    let parts = Parts(entry);
    let mut tail = entry.get(RELEASE.head.end..)?.splitn(3, |byte| *byte == 0);
    let mut part = || tail.next().and_then(|part| std::str::from_utf8(part).ok());
    let (worker, cause) = (part()?, part()?);
    let mark = part().and_then(Undecodable::from_stored);
    Some(Release {
        lease_seq: parts.hex(RELEASE.lease_seq)?,
        at: parts.decimal_time(RELEASE.at)?,
        started_at: parts.time(RELEASE.started).filter(|at| at.as_millis() != 0),
        worker: WorkerId::new(worker).ok(),
        cause: cause.parse().ok(),
        undecodable: mark.map(Box::new),
    })
}

fn log_line(entry: &[u8]) -> Option<LogLine> {
    let at = Parts(entry).decimal_time(LINE.at)?;
    let text = String::from_utf8_lossy(entry.get(LINE.head.end..)?).into_owned();
    Some(LogLine { at, text })
}

fn checkpoint(entry: &[u8]) -> Option<Checkpoint> {
    let parts = Parts(entry);
    let size = parts.hex(CHECKPOINT.name)? as usize;
    let (name, result) = entry.get(CHECKPOINT.head.end..)?.split_at_checked(size)?;
    let name = CheckpointName::new(std::str::from_utf8(name).ok()?).ok()?;
    let (at, result) = (parts.decimal_time(CHECKPOINT.at)?, Bytes::copy_from_slice(result));
    Some(Checkpoint { name, at, result })
}

/// Progress as stored: the fraction's bits, then the message.
pub(crate) fn progress(progress: &Progress) -> Vec<u8> {
    format!("{:08x}{}", progress.fraction.to_bits(), progress.message).into_bytes()
}

pub(super) fn progress_of(bytes: &[u8]) -> Option<Progress> {
    let (bits, message) = std::str::from_utf8(bytes).ok()?.split_at_checked(8)?;
    let fraction = f32::from_bits(u32::from_str_radix(bits, 16).ok()?);
    Some(Progress::new(fraction, message))
}
