//! The operations that take a token.

use std::fmt::Debug;

use queuekit_core::capability::{Report, Settlement};
use queuekit_core::{Ack, DeadLetter, LeaseToken, Nack, NackKind, Progress, QueueName, Result};

use crate::World;
use crate::kit::{HOUR, request, ttl};

/// An operation that takes tokens. If it took effect, its other arguments would show in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Ack,
    Nack(NackKind),
    DeadLetter,
    Extend,
    Report,
    Checkpoint,
    ExchangeAck,
    ExchangeNack(NackKind),
}

impl Operation {
    /// The outcome for each token, as its Debug output.
    pub(super) async fn call(self, world: &dyn World, tokens: &[LeaseToken]) -> Vec<String> {
        match self {
            Self::Ack => told(world.backend().ack(&acks(tokens)).await),
            Self::Nack(kind) => told(world.backend().nack(&nacks(tokens, kind)).await),
            Self::DeadLetter => {
                let dead_letter = |token: &LeaseToken| DeadLetter::of_lease(token.clone(), "stale");
                let dead_letters: Vec<_> = tokens.iter().map(dead_letter).collect();
                told(world.backend().dead_letter(&dead_letters).await)
            }
            Self::Extend => told(world.leases().extend(tokens, ttl(2 * HOUR)).await),
            Self::Report => told(world.leases().report(&reports(tokens)).await),
            Self::Checkpoint => {
                let mut answers = Vec::with_capacity(tokens.len());
                for token in tokens {
                    answers.push(format!("{:?}", world.put_as(token, "s", "stale").await));
                }
                answers
            }
            Self::ExchangeAck => {
                let settlement = Settlement { acks: acks(tokens), ..Settlement::default() };
                let exchanged = exchange(world, &tokens[0].queue, &settlement).await;
                told(exchanged.map(|exchanged| exchanged.acks))
            }
            Self::ExchangeNack(kind) => {
                let settlement = Settlement { nacks: nacks(tokens, kind), ..Settlement::default() };
                let exchanged = exchange(world, &tokens[0].queue, &settlement).await;
                told(exchanged.map(|exchanged| exchanged.nacks))
            }
        }
    }

    /// The operation without the exchange around it.
    pub(super) fn alone(self) -> Self {
        match self {
            Self::ExchangeAck => Self::Ack,
            Self::ExchangeNack(kind) => Self::Nack(kind),
            other => other,
        }
    }
}

/// Also reserves from the same queue, so that a store with one step for both uses it.
async fn exchange(
    world: &dyn World,
    queue: &QueueName,
    settlement: &Settlement,
) -> Result<queuekit_core::capability::Exchanged> {
    let exchanged = world.exchange().exchange(settlement, &request(queue.clone(), 1)).await;
    if let Ok(exchanged) = &exchanged {
        assert!(exchanged.reserved.leases.is_empty(), "no job should be leased: {exchanged:?}");
    }
    exchanged
}

fn acks(tokens: &[LeaseToken]) -> Vec<Ack> {
    tokens.iter().map(|token| Ack::new(token.clone()).with_result("stale")).collect()
}

fn nacks(tokens: &[LeaseToken], kind: NackKind) -> Vec<Nack> {
    tokens.iter().map(|token| Nack::new(token.clone(), kind, "stale", HOUR)).collect()
}

fn reports(tokens: &[LeaseToken]) -> Vec<Report> {
    let report = |token: &LeaseToken| {
        Report::new(token.clone(), Some(Progress::new(1.0, "stale")), vec!["stale".to_owned()])
    };
    tokens.iter().map(report).collect()
}

fn told<T: Debug>(answers: Result<Vec<T>>) -> Vec<String> {
    answers.expect("the call").iter().map(|answer| format!("{answer:?}")).collect()
}
