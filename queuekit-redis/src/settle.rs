//! Ending leases (contract R3, R4), and the script that also grants others.

use std::sync::atomic::AtomicBool;

use futures_util::future::join_all;
use queuekit_core::{Ack, AckOutcome, LeaseToken, Nack, NackOutcome, QueueName, Result};

use crate::RedisStore;
use crate::error::answered;
use crate::indeterminate::in_part;
use crate::repeat::Call;
use crate::scripts::Lua;
use crate::step::{Action, Answer, Ask, Outcomes, Part, exchange, joined};

/// The most outcomes that one script takes: it puts several values of each on Lua's stack, which
/// holds 8,000.
pub(crate) const MOST: usize = 1000;

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
        let parts = exchange::parts(acks, nacks);
        // Acks can be repeated; leases and nacks cannot. No queue waits for the node of another.
        let call = match operation {
            _ if parts.len() > 1 && self.shared.topology.is_cluster() => Call::Glance,
            "ack" => Call::Repeatable,
            _ => Call::Once,
        };
        let none = Outcomes::default;
        let settle = |(queue, part)| self.settle_rest(operation, call, queue, part, none());
        let settling = parts.iter().map(|(queue, part)| settle((queue, part)));
        let answers = joined(join_all(settling).await)?;
        let mut acked = vec![AckOutcome::NotFound; acks.len()];
        let mut nacked = vec![NackOutcome::NotFound; nacks.len()];
        for ((queue, part), outcomes) in parts.iter().zip(answers) {
            part.put(&outcomes, &mut acked, &mut nacked);
            self.stir_after(queue, part, &outcomes);
        }
        Ok((acked, nacked))
    }

    /// Settles what a part has left after these outcomes. A script of large jobs leaves some to the
    /// next one.
    pub(crate) async fn settle_rest(
        &self,
        operation: &'static str,
        call: Call,
        queue: &QueueName,
        part: &Part<'_>,
        mut outcomes: Outcomes,
    ) -> Result<Outcomes> {
        while outcomes.len() < part.len() {
            let begun = outcomes.len() > 0;
            let answer = self.exchange_on(operation, call, queue, part.request(&outcomes), None);
            let answer =
                answer.await.map_err(|error| if begun { in_part(error) } else { error })?;
            if answer.outcomes.len() == 0 {
                return Err(answered(operation));
            }
            outcomes.extend(answer.outcomes);
        }
        Ok(outcomes)
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

    pub(crate) async fn exchange_on(
        &self,
        operation: &'static str,
        call: Call,
        queue: &QueueName,
        settles: Vec<Vec<u8>>,
        ask: Option<Ask<'_>>,
    ) -> Result<Answer> {
        let args = exchange::args(ask.as_ref(), settles);
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

    pub(crate) fn stir_after(&self, queue: &QueueName, part: &Part<'_>, outcomes: &Outcomes) {
        let again = |nack: &NackOutcome| {
            matches!(nack, NackOutcome::Retrying { .. } | NackOutcome::Released { .. })
        };
        // Only the script knows whether an ack lets another job of its key go.
        if !part.acks.is_empty() || outcomes.nacks.iter().any(again) {
            self.stir(std::iter::once(queue));
        }
    }
}
