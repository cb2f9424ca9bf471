//! Ending leases and granting others, as the script takes and answers it (contract R3, R4, R5).

use std::time::{Duration, Instant};

use bytes::Bytes;
use queuekit_core::backend::AnswerBytes;
use queuekit_core::lifecycle::Budget;
use queuekit_core::{
    Ack, AckOutcome, Lease, LeaseToken, Nack, NackKind, NackOutcome, QueueName, ReleaseCause,
    Reserve, Signature, Timestamp,
};
use redis::Value;

use crate::codec::{array_of, bytes_of, job_id, lease, millis, number_of, token};

/// The request to one queue.
pub(crate) struct Ask<'a> {
    pub(crate) request: &'a Reserve,
    pub(crate) most: usize,
    pub(crate) budget: Budget,
    pub(crate) until: Instant,
}

/// The part of a settlement for one queue, with the positions in the call.
#[derive(Default)]
pub(crate) struct Part<'a> {
    pub(crate) acks: Vec<(usize, &'a Ack)>,
    pub(crate) nacks: Vec<(usize, &'a Nack)>,
}

/// The answer of one script.
pub(crate) struct Answer {
    pub(crate) outcomes: Outcomes,
    pub(crate) leases: Vec<Lease>,
    pub(crate) budget: Budget,
    pub(crate) next_in: Option<Duration>,
    /// Its keys are being placed anew.
    pub(crate) moving: bool,
    /// Keys whose time has come are left to the next call.
    pub(crate) behind: bool,
}

/// The outcomes of the first leases of a part, in their order: a script that has loaded enough
/// leaves the rest to the next one.
#[derive(Default)]
pub(crate) struct Outcomes {
    acks: Vec<AckOutcome>,
    pub(crate) nacks: Vec<NackOutcome>,
}

impl Outcomes {
    pub(crate) fn len(&self) -> usize {
        self.acks.len() + self.nacks.len()
    }

    pub(crate) fn extend(&mut self, next: Self) {
        self.acks.extend(next.acks);
        self.nacks.extend(next.nacks);
    }
}

impl Ask<'_> {
    pub(crate) fn time_left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

/// The arguments of the script: what is asked of the queue, if anything, and what is settled.
pub(crate) fn args(ask: Option<&Ask<'_>>, settles: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut args: Vec<Vec<u8>> = ask.map_or_else(
        || (0..8).map(|at| if at == 5 { Vec::new() } else { b"0".to_vec() }).collect(),
        |ask| {
            let number = |number: usize| number.to_string().into_bytes();
            vec![
                number(ask.most),
                number(ask.budget.reclaims),
                number(ask.budget.dead_letters),
                ask.request.nonce.as_bytes().to_vec(),
                millis(ask.request.ttl.get()).to_string().into_bytes(),
                ask.request.worker.as_str().into(),
                number(ask.budget.answer.taken()),
                number(ask.budget.answer.most()),
            ]
        },
    );
    match settles.is_empty() {
        true => args.extend([b"0".to_vec(), b"0".to_vec()]),
        false => args.extend(settles),
    }
    args
}

/// The parts of a settlement, by queue.
pub(crate) fn parts<'a>(acks: &'a [Ack], nacks: &'a [Nack]) -> Vec<(QueueName, Part<'a>)> {
    let mut parts: Vec<(QueueName, Part<'a>)> = Vec::new();
    let mut part = |queue: &QueueName| {
        parts.iter().position(|(name, _)| name == queue).unwrap_or_else(|| {
            parts.push((queue.clone(), Part::default()));
            parts.len() - 1
        })
    };
    let of_acks: Vec<usize> = acks.iter().map(|ack| part(&ack.lease.queue)).collect();
    let of_nacks: Vec<usize> = nacks.iter().map(|nack| part(&nack.lease.queue)).collect();
    for (at, part) in of_acks.into_iter().enumerate() {
        parts[part].1.acks.push((at, &acks[at]));
    }
    for (at, part) in of_nacks.into_iter().enumerate() {
        parts[part].1.nacks.push((at, &nacks[at]));
    }
    parts
}

impl Part<'_> {
    pub(crate) fn len(&self) -> usize {
        self.acks.len() + self.nacks.len()
    }

    pub(crate) fn whole_request(&self) -> Vec<Vec<u8>> {
        self.request(&Outcomes::default())
    }

    /// What is to be settled after these outcomes.
    pub(crate) fn request(&self, after: &Outcomes) -> Vec<Vec<u8>> {
        let (acks, nacks) = (&self.acks[after.acks.len()..], &self.nacks[after.nacks.len()..]);
        let count = |count: usize| count.to_string().into_bytes();
        let mut args = vec![count(acks.len()), count(nacks.len())];
        for (_, ack) in acks {
            args.push(ack.lease.id.as_bytes().to_vec());
            args.push(token(&ack.lease));
            let result = ack.result.as_ref();
            args.push(result.map_or_else(Vec::new, |result| [b"+", &result[..]].concat()));
        }
        for (_, nack) in nacks {
            args.push(nack.lease.id.as_bytes().to_vec());
            args.push(token(&nack.lease));
            args.push(match nack.kind {
                NackKind::Retry => b"t".to_vec(),
                NackKind::Release => b"l".to_vec(),
                NackKind::Fatal => b"f".to_vec(),
                NackKind::Cancelled => b"c".to_vec(),
            });
            args.push(millis(nack.delay()).to_string().into_bytes());
            args.push(match nack.kind {
                NackKind::Release => release_note(nack).into(),
                _ => nack.error.as_str().into(),
            });
            args.push(match nack.kind.is_failure() {
                true => Signature::of(nack.error.as_str()).to_stored().into(),
                false => Vec::new(),
            });
        }
        args
    }

    pub(crate) fn put(
        &self,
        outcomes: &Outcomes,
        acked: &mut [AckOutcome],
        nacked: &mut [NackOutcome],
    ) {
        for ((at, _), outcome) in self.acks.iter().zip(&outcomes.acks) {
            acked[*at] = *outcome;
        }
        for ((at, nack), outcome) in self.nacks.iter().zip(&outcomes.nacks) {
            nacked[*at] = match outcome {
                NackOutcome::Retrying { .. } => NackOutcome::Retrying { after: nack.delay() },
                NackOutcome::Released { .. } => NackOutcome::Released { after: nack.delay() },
                outcome => *outcome,
            };
        }
    }
}

/// What the script keeps of a release: its cause, and behind a NUL the mark if it has one.
fn release_note(nack: &Nack) -> String {
    let cause = nack.cause().map_or("", ReleaseCause::as_str);
    match nack.mark() {
        Some(mark) => format!("{cause}\0{}", mark.to_stored()),
        None => cause.to_owned(),
    }
}

impl Answer {
    /// Reads an answer. Returns apart the leases whose jobs cannot be read.
    pub(crate) fn read(
        answer: Value,
        queue: &QueueName,
        ask: Option<&Ask<'_>>,
    ) -> Option<(Self, Vec<LeaseToken>)> {
        let mut parts = array_of(answer)?.into_iter();
        let outcomes = bytes_of(parts.next()?)?;
        let now = Timestamp::from_millis(number_of(parts.next()?)?);
        let mut number = || number_of(parts.next()?).and_then(|left| usize::try_from(left).ok());
        let (reclaims, dead_letters) = (number()?, number()?);
        let next = String::from_utf8(bytes_of(parts.next()?)?).ok()?;
        let mut number = || number_of(parts.next()?).and_then(|left| usize::try_from(left).ok());
        let mut answer = ask.map_or_else(AnswerBytes::default, |ask| ask.budget.answer);
        answer.set(number()?, number()? == 1);
        let budget = Budget { reclaims, dead_letters, answer };
        let (mut acks, mut nacks) = (Vec::new(), Vec::new());
        for outcome in outcomes {
            match outcome {
                b'A' => acks.push(AckOutcome::Acked),
                b'D' => acks.push(AckOutcome::AlreadyDone),
                b'L' => acks.push(AckOutcome::LeaseLost),
                b'N' => acks.push(AckOutcome::NotFound),
                b'r' => nacks.push(NackOutcome::Retrying { after: Duration::ZERO }),
                b'b' => nacks.push(NackOutcome::Released { after: Duration::ZERO }),
                b'x' => nacks.push(NackOutcome::Dead),
                b'c' => nacks.push(NackOutcome::Cancelled),
                b'l' => nacks.push(NackOutcome::LeaseLost),
                b'n' => nacks.push(NackOutcome::NotFound),
                _ => return None,
            }
        }
        let (mut leases, mut unreadable) = (Vec::new(), Vec::new());
        while let Some(id) = parts.next() {
            let id = job_id(&bytes_of(id)?)?;
            let (state, data) = (bytes_of(parts.next()?)?, bytes_of(parts.next()?)?);
            match lease(queue, id, ask?.request.nonce, now, &state, Bytes::from(data)) {
                Ok(lease) => leases.push(lease),
                Err(token) => unreadable.push(token),
            }
        }
        let (moving, behind) = (next == "moving", next == "more");
        let next_in = if behind { Some(0) } else { next.parse().ok() }.map(Duration::from_millis);
        let outcomes = Outcomes { acks, nacks };
        Some((Self { outcomes, leases, budget, next_in, moving, behind }, unreadable))
    }
}
