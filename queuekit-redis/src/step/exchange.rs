//! Ending leases and granting others (contract R3, R4, R5).

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use queuekit_core::capability::{Exchanged, Settlement};
use queuekit_core::lifecycle::Budget;
use queuekit_core::{
    Ack, AckOutcome, Lease, LeaseToken, Nack, NackKind, NackOutcome, QueueName, Reserve, Reserved,
    Result, Timestamp,
};
use redis::Value;

use super::actions::Action;
use super::enqueue::answered;
use super::parts::joined;
use super::round::{Ask, Round};
use crate::RedisStore;
use crate::call::Call;
use crate::codec::{array_of, bytes_of, job_id, lease, millis, number_of, token};
use crate::doubt::in_part;
use crate::scripts::Lua;

/// The most outcomes that one script takes: it puts several values of each on Lua's stack, which
/// holds 8,000.
const MOST: usize = 1000;

/// The part of a settlement for one queue, with the positions in the call.
#[derive(Default)]
pub(super) struct Part<'a> {
    acks: Vec<(usize, &'a Ack)>,
    nacks: Vec<(usize, &'a Nack)>,
}

/// The answer of one script.
pub(super) struct Answer {
    pub(super) outcomes: Outcomes,
    pub(super) leases: Vec<Lease>,
    pub(super) budget: Budget,
    pub(super) next_in: Option<Duration>,
    /// Its keys are being placed anew.
    pub(super) moving: bool,
}

/// The outcomes of the leases that the script ended, in the order of their part.
pub(super) struct Outcomes {
    acks: Vec<AckOutcome>,
    nacks: Vec<NackOutcome>,
}

impl RedisStore {
    /// Settles each queue's part in a step of its own.
    pub(crate) async fn settle(
        &self,
        operation: &'static str,
        acks: &[Ack],
        nacks: &[Nack],
    ) -> Result<(Vec<AckOutcome>, Vec<NackOutcome>)> {
        if acks.len() + nacks.len() > MOST {
            return self.settle_in_slices(operation, acks, nacks).await;
        }
        let parts = parts(acks, nacks);
        // Acks can be repeated; leases and nacks cannot. No queue waits for the node of another.
        let call = match operation {
            _ if parts.len() > 1 && self.shared.topology.is_cluster() => Call::Glance,
            "ack" => Call::Repeatable,
            _ => Call::Once,
        };
        let settle = |(queue, part): &(QueueName, Part<'_>)| {
            let (queue, request) = (queue.clone(), part.request());
            async move { self.exchange_on(operation, call, &queue, request, None).await }
        };
        let answers = joined(join_all(parts.iter().map(settle)).await)?;
        let mut acked = vec![AckOutcome::NotFound; acks.len()];
        let mut nacked = vec![NackOutcome::NotFound; nacks.len()];
        for ((queue, part), answer) in parts.iter().zip(answers) {
            part.put(&answer.outcomes, &mut acked, &mut nacked);
            self.stir_after(queue, part, &answer.outcomes);
        }
        Ok((acked, nacked))
    }

    async fn settle_in_slices(
        &self,
        operation: &'static str,
        acks: &[Ack],
        nacks: &[Nack],
    ) -> Result<(Vec<AckOutcome>, Vec<NackOutcome>)> {
        let (mut acked, mut nacked) = (Vec::new(), Vec::new());
        let acks = acks.chunks(MOST).map(|slice| (slice, &[][..]));
        for (acks, nacks) in acks.chain(nacks.chunks(MOST).map(|slice| (&[][..], slice))) {
            let begun = acked.len() + nacked.len() > 0;
            let settled = Box::pin(self.settle(operation, acks, nacks)).await;
            let settled = settled.map_err(|error| if begun { in_part(error) } else { error })?;
            acked.extend(settled.0);
            nacked.extend(settled.1);
        }
        Ok((acked, nacked))
    }

    pub(crate) async fn reserve_jobs(&self, request: &Reserve) -> Result<Reserved> {
        let exchanged = self.exchange_jobs("reserve", &Settlement::default(), request).await?;
        Ok(exchanged.reserved)
    }

    /// With one queue all is one step; else the settlement goes first.
    pub(crate) async fn exchange_jobs(
        &self,
        operation: &'static str,
        settlement: &Settlement,
        request: &Reserve,
    ) -> Result<Exchanged> {
        self.shared.limits.admit_reserve(request.limit)?;
        let (acks, nacks) = (&settlement.acks, &settlement.nacks);
        let only = match request.queues.names() {
            [only] if request.limit > 0 => Some(only),
            _ => None,
        };
        let all_there = only.is_some_and(|only| {
            settlement.len() <= MOST
                && acks.iter().all(|ack| ack.lease.queue == *only)
                && nacks.iter().all(|nack| nack.lease.queue == *only)
        });
        let (mut exchanged, mut round) =
            (Exchanged::default(), Round::new(request, self.shared.op_timeout));
        let mut settled = false;
        if all_there {
            round.settles = parts(acks, nacks).into_iter().next().map(|(_, part)| part);
        } else if !settlement.is_empty() {
            (exchanged.acks, exchanged.nacks) = self.settle(operation, acks, nacks).await?;
            settled = true;
        }
        if request.limit == 0 {
            return Ok(exchanged);
        }
        match self.go_round(operation, &mut round).await {
            Ok(()) => {}
            // The answer returns what was settled, even if the rest failed.
            Err(error) if settled => {
                tracing::debug!(%error, "nothing is reserved");
                return Ok(exchanged);
            }
            Err(error) => return Err(error),
        }
        if let Some((part, outcomes)) = round.settled.take() {
            exchanged.acks = vec![AckOutcome::NotFound; acks.len()];
            exchanged.nacks = vec![NackOutcome::NotFound; nacks.len()];
            part.put(&outcomes, &mut exchanged.acks, &mut exchanged.nacks);
            only.iter().for_each(|queue| self.stir_after(queue, &part, &outcomes));
        }
        exchanged.reserved = round.reserved();
        Ok(exchanged)
    }

    pub(super) async fn exchange_on(
        &self,
        operation: &'static str,
        call: Call,
        queue: &QueueName,
        settles: Vec<Vec<u8>>,
        ask: Option<Ask<'_>>,
    ) -> Result<Answer> {
        let mut args = ask.as_ref().map_or_else(
            || vec![Vec::new(); 6],
            |ask| {
                let number = |number: usize| number.to_string().into_bytes();
                vec![
                    number(ask.most),
                    number(ask.budget.reclaims),
                    number(ask.budget.dead_letters),
                    ask.request.nonce.as_bytes().to_vec(),
                    millis(ask.request.ttl.get()).to_string().into_bytes(),
                    ask.request.worker.as_str().into(),
                ]
            },
        );
        if ask.is_none() {
            args[..5].iter_mut().for_each(|arg| *arg = b"0".to_vec());
        }
        match settles.is_empty() {
            true => args.extend([b"0".to_vec(), b"0".to_vec()]),
            false => args.extend(settles),
        }
        let time = ask.as_ref().map_or(self.shared.op_timeout, Ask::time_left);
        let script = Lua::Exchange;
        let answer = self.on_queue_within(time, operation, call, script, queue, args).await?;
        let read = Answer::read(answer, queue, ask.as_ref());
        let (answer, unreadable) = read.ok_or_else(|| answered(operation))?;
        if !unreadable.is_empty()
            && let Err(error) = self.quarantine(queue, &unreadable).await
        {
            // The answer returns what was granted; these jobs are met again when their leases have
            // run out.
            tracing::debug!(%error, %queue, "jobs that cannot be read are left to a later call");
        }
        Ok(answer)
    }

    /// Quarantines jobs whose data passes the checks of the scripts, and is broken elsewhere.
    async fn quarantine(&self, queue: &QueueName, leases: &[LeaseToken]) -> Result<()> {
        let acts = leases.iter().map(Action::quarantine).collect();
        self.act_on("reserve", queue, acts, &AtomicBool::new(false)).await.map(drop)
    }

    fn stir_after(&self, queue: &QueueName, part: &Part<'_>, outcomes: &Outcomes) {
        let again = |nack: &NackOutcome| {
            matches!(nack, NackOutcome::Retrying { .. } | NackOutcome::Released { .. })
        };
        // Only the script knows whether an ack lets another job of its key go.
        if !part.acks.is_empty() || outcomes.nacks.iter().any(again) {
            self.stir(std::iter::once(queue));
        }
    }
}

fn parts<'a>(acks: &'a [Ack], nacks: &'a [Nack]) -> Vec<(QueueName, Part<'a>)> {
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
    pub(super) fn request(&self) -> Vec<Vec<u8>> {
        let count = |count: usize| count.to_string().into_bytes();
        let mut args = vec![count(self.acks.len()), count(self.nacks.len())];
        for (_, ack) in &self.acks {
            args.push(ack.lease.id.as_bytes().to_vec());
            args.push(token(&ack.lease));
            let result = ack.result.as_ref();
            args.push(result.map_or_else(Vec::new, |result| [b"+", &result[..]].concat()));
        }
        for (_, nack) in &self.nacks {
            args.push(nack.lease.id.as_bytes().to_vec());
            args.push(token(&nack.lease));
            args.push(match nack.kind {
                NackKind::Retry => b"t".to_vec(),
                NackKind::Release => b"l".to_vec(),
                NackKind::Fatal => b"f".to_vec(),
                NackKind::Cancelled => b"c".to_vec(),
            });
            args.push(millis(nack.delay()).to_string().into_bytes());
            args.push(nack.error.as_str().into());
        }
        args
    }

    fn put(&self, outcomes: &Outcomes, acked: &mut [AckOutcome], nacked: &mut [NackOutcome]) {
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

impl Answer {
    /// Reads an answer. Returns apart the leases whose jobs cannot be read.
    fn read(
        answer: Value,
        queue: &QueueName,
        ask: Option<&Ask<'_>>,
    ) -> Option<(Self, Vec<LeaseToken>)> {
        let mut parts = array_of(answer)?.into_iter();
        let outcomes = bytes_of(parts.next()?)?;
        let now = Timestamp::from_millis(number_of(parts.next()?)?);
        let mut number = || number_of(parts.next()?).and_then(|left| usize::try_from(left).ok());
        let budget = Budget { reclaims: number()?, dead_letters: number()? };
        let next = String::from_utf8(bytes_of(parts.next()?)?).ok()?;
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
        let next_in = next.parse().ok().map(Duration::from_millis);
        let moving = next == "moving";
        let outcomes = Outcomes { acks, nacks };
        Some((Self { outcomes, leases, budget, next_in, moving }, unreadable))
    }
}
