//! Ending leases and granting others (contract R3, R4, R5).

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{join_all, try_join_all};
use queuekit_core::backend::Division;
use queuekit_core::capability::{Exchanged, Settlement};
use queuekit_core::limits::{BURIALS_PER_RESERVE, reclaims_per_reserve};
use queuekit_core::{
    Ack, AckOutcome, Lease, LeaseToken, Nack, NackKind, NackOutcome, QueueName, Queues, Reserve,
    Reserved, Result, Timestamp,
};
use redis::Value;

use super::act::Act;
use super::enqueue::answered;
use crate::RedisStore;
use crate::call::Call;
use crate::codec::{array_of, bytes_of, job_id, lease, millis, number_of, token};
use crate::scripts::Lua;

/// Outcomes that one script takes: it passes several values of each on Lua's stack, which holds
/// 8,000.
const MOST: usize = 1000;

/// What of a settlement is of one queue, and where it stood.
#[derive(Default)]
struct Part<'a> {
    acks: Vec<(usize, &'a Ack)>,
    nacks: Vec<(usize, &'a Nack)>,
}

/// What one call may still do.
#[derive(Clone, Copy)]
struct Budget {
    reclaims: usize,
    burials: usize,
}

/// What one script answered.
struct Answer {
    acks: Vec<AckOutcome>,
    nacks: Vec<NackOutcome>,
    leases: Vec<Lease>,
    budget: Budget,
    next_in: Option<Duration>,
    /// Its keys are being placed anew.
    moving: bool,
}

impl RedisStore {
    /// Each queue's part is a step of its own.
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
        let settle = |(queue, part): &(QueueName, Part<'_>)| {
            let (queue, request) = (queue.clone(), part.request());
            async move { self.exchange_on(operation, &queue, request, None).await }
        };
        let answers = try_join_all(parts.iter().map(settle)).await?;
        let mut acked = vec![AckOutcome::NotFound; acks.len()];
        let mut nacked = vec![NackOutcome::NotFound; nacks.len()];
        for ((queue, part), answer) in parts.iter().zip(answers) {
            part.put(&answer, &mut acked, &mut nacked);
            self.stir_after(queue, part, &answer);
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
        for slice in acks.chunks(MOST) {
            acked.extend(Box::pin(self.settle(operation, slice, &[])).await?.0);
        }
        for slice in nacks.chunks(MOST) {
            nacked.extend(Box::pin(self.settle(operation, &[], slice)).await?.1);
        }
        Ok((acked, nacked))
    }

    pub(crate) async fn reserve_jobs(&self, request: &Reserve) -> Result<Reserved> {
        let exchanged = self.exchange_jobs("reserve", &Settlement::default(), request).await?;
        Ok(exchanged.reserved)
    }

    /// With one queue all is one step; else what is settled goes before.
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
        let mut exchanged = Exchanged::default();
        let mut first = None;
        if all_there {
            first = parts(acks, nacks).into_iter().next().map(|(_, part)| part);
        } else if !settlement.is_empty() {
            (exchanged.acks, exchanged.nacks) = self.settle(operation, acks, nacks).await?;
        }
        if request.limit == 0 {
            return Ok(exchanged);
        }
        let mut round = Round::new(request);
        while let Some((queue, most)) = round.division.next() {
            let part = first.take();
            let settles = part.as_ref().map(Part::request).unwrap_or_default();
            let asked = self.exchange_on(operation, queue, settles, Some(round.ask(most))).await;
            let answer = match asked {
                Ok(answer) => answer,
                // What was leased is told, whatever became of the other queues (contract R5.10).
                Err(error) if round.leases.is_empty() => return Err(error),
                Err(error) => {
                    tracing::debug!(%error, "the other queues are left to the next call");
                    break;
                }
            };
            if let Some(part) = part {
                exchanged.acks = vec![AckOutcome::NotFound; acks.len()];
                exchanged.nacks = vec![NackOutcome::NotFound; nacks.len()];
                part.put(&answer, &mut exchanged.acks, &mut exchanged.nacks);
                self.stir_after(queue, &part, &answer);
            }
            if answer.moving {
                self.place(queue).await?;
            }
            round.took(queue, answer);
        }
        self.reclaim_elsewhere(operation, &round).await;
        exchanged.reserved = round.reserved();
        Ok(exchanged)
    }

    /// A full batch may come of the first queues alone; leases of the others that ran out are
    /// taken back all the same (contract R5.6).
    async fn reclaim_elsewhere(&self, operation: &'static str, round: &Round<'_>) {
        let left = round.request.queues.names().iter().filter(|name| !round.visited(name));
        let ask = |queue: &QueueName| {
            let (queue, ask) = (queue.clone(), round.ask(0));
            async move { self.exchange_on(operation, &queue, Vec::new(), Some(ask)).await }
        };
        for answer in join_all(left.map(ask)).await {
            if let Err(error) = answer {
                tracing::debug!(%error, "leases that ran out are left to the next call");
            }
        }
    }

    async fn exchange_on(
        &self,
        operation: &'static str,
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
                    number(ask.budget.burials),
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
        // Acks can be told twice; leases and nacks cannot.
        let call = if operation == "ack" { Call::Repeatable } else { Call::Once };
        let answer = self.on_queue(operation, call, Lua::Exchange, queue, args).await?;
        let read = Answer::read(answer, queue, ask.as_ref());
        let (answer, unreadable) = read.ok_or_else(|| answered(operation))?;
        if !unreadable.is_empty() {
            self.quarantine(queue, &unreadable).await?;
        }
        Ok(answer)
    }

    /// Their data has the form that scripts check, and is broken beyond it.
    async fn quarantine(&self, queue: &QueueName, leases: &[LeaseToken]) -> Result<()> {
        let acts = leases.iter().map(Act::quarantine).collect();
        self.act_on("reserve", queue, acts).await.map(drop)
    }

    fn stir_after(&self, queue: &QueueName, part: &Part<'_>, answer: &Answer) {
        let again = |nack: &NackOutcome| {
            matches!(nack, NackOutcome::Retrying { .. } | NackOutcome::Released { .. })
        };
        // Whether an ack lets another job of its key go only the script knows.
        if !part.acks.is_empty() || answer.nacks.iter().any(again) {
            self.stir(std::iter::once(queue));
        }
    }
}

/// What is asked of one queue.
struct Ask<'a> {
    request: &'a Reserve,
    most: usize,
    budget: Budget,
}

/// A reserve on its way over the queues.
struct Round<'a> {
    request: &'a Reserve,
    division: Division<'a>,
    budget: Budget,
    leases: Vec<Lease>,
    next_in: Vec<(QueueName, Option<Duration>)>,
    moving: bool,
}

impl<'a> Round<'a> {
    fn new(request: &'a Reserve) -> Self {
        let queues: &Queues = &request.queues;
        let reclaims = reclaims_per_reserve(request.limit);
        Self {
            request,
            division: queues.division(request.limit),
            budget: Budget { reclaims, burials: BURIALS_PER_RESERVE },
            leases: Vec::new(),
            next_in: Vec::new(),
            moving: false,
        }
    }

    fn ask(&self, most: usize) -> Ask<'a> {
        Ask { request: self.request, most, budget: self.budget }
    }

    fn visited(&self, name: &QueueName) -> bool {
        self.next_in.iter().any(|(visited, _)| visited == name)
    }

    fn took(&mut self, queue: &QueueName, answer: Answer) {
        self.division.got(answer.leases.len());
        self.budget = answer.budget;
        self.leases.extend(answer.leases);
        self.next_in.retain(|(name, _)| name != queue);
        self.next_in.push((queue.clone(), answer.next_in));
        self.moving |= answer.moving;
    }

    fn reserved(self) -> Reserved {
        let buried = self.budget.burials < BURIALS_PER_RESERVE;
        let full = self.leases.len() == self.request.limit;
        let more =
            full || self.moving || self.budget.burials == 0 || (buried && self.leases.is_empty());
        let next_due_in = self.next_in.into_iter().filter_map(|(_, next)| next).min();
        Reserved { leases: self.leases, next_due_in: next_due_in.filter(|_| !full), more }
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
    fn request(&self) -> Vec<Vec<u8>> {
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

    fn put(&self, answer: &Answer, acked: &mut [AckOutcome], nacked: &mut [NackOutcome]) {
        for ((at, _), outcome) in self.acks.iter().zip(&answer.acks) {
            acked[*at] = *outcome;
        }
        for ((at, nack), outcome) in self.nacks.iter().zip(&answer.nacks) {
            nacked[*at] = match outcome {
                NackOutcome::Retrying { .. } => NackOutcome::Retrying { after: nack.delay() },
                NackOutcome::Released { .. } => NackOutcome::Released { after: nack.delay() },
                outcome => *outcome,
            };
        }
    }
}

impl Answer {
    /// What it granted that cannot be read comes beside it.
    fn read(
        answer: Value,
        queue: &QueueName,
        ask: Option<&Ask<'_>>,
    ) -> Option<(Self, Vec<LeaseToken>)> {
        let mut parts = array_of(answer)?.into_iter();
        let outcomes = bytes_of(parts.next()?)?;
        let now = Timestamp::from_millis(number_of(parts.next()?)?);
        let mut number = || number_of(parts.next()?).and_then(|left| usize::try_from(left).ok());
        let budget = Budget { reclaims: number()?, burials: number()? };
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
        Some((Self { acks, nacks, leases, budget, next_in, moving }, unreadable))
    }
}
