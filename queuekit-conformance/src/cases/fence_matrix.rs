//! The fence, as a matrix: every operation that takes a token, by every token that holds nothing.
//!
//! Each case is one operation. It is tried with every token of `stale_tokens`, one by one and in
//! one batch: the answer is what the contract says, and not one byte changes.

use crate::World;
use operation::Operation;
use queuekit_core::LeaseToken;
use queuekit_core::NackKind;
use stale::{Stale, stale_tokens};

mod operation;
mod stale;

/// R3.3: only the token of the live lease can ack.
/// Guard: the lease's id, number, nonce and queue in the condition of ack.
pub async fn r3_3_no_stale_token_acks(world: &dyn World) {
    assert_refused(world, Operation::Ack).await;
}

/// R3.3: no other token acks in an exchange either.
/// Guard: the same, in the ack part of exchange.
pub async fn r3_3_no_stale_token_acks_in_an_exchange(world: &dyn World) {
    assert_refused(world, Operation::ExchangeAck).await;
}

/// R3.7: only the token of the live lease can extend it.
/// Guard: the lease's id, number, nonce and queue in the condition of extend.
pub async fn r3_7_no_stale_token_extends(world: &dyn World) {
    assert_refused(world, Operation::Extend).await;
}

/// R3.8: only the token of the live lease can report.
/// Guard: the lease's id, number, nonce and queue in the condition of report.
pub async fn r3_8_no_stale_token_reports(world: &dyn World) {
    assert_refused(world, Operation::Report).await;
}

/// R4.1: only the token of the live lease can nack its job with a retry.
/// Guard: the lease's id, number, nonce and queue in the condition of nack.
pub async fn r4_1_no_stale_token_retries(world: &dyn World) {
    assert_refused(world, Operation::Nack(NackKind::Retry)).await;
}

/// R4.1: no other token releases its job.
/// Guard: the same, for a release.
pub async fn r4_1_no_stale_token_releases(world: &dyn World) {
    assert_refused(world, Operation::Nack(NackKind::Release)).await;
}

/// R4.1: no other token fails its job for good.
/// Guard: the same, for a fatal failure.
pub async fn r4_1_no_stale_token_fails_for_good(world: &dyn World) {
    assert_refused(world, Operation::Nack(NackKind::Fatal)).await;
}

/// R4.1: no other token cancels its job.
/// Guard: the same, for a run that was cancelled.
pub async fn r4_1_no_stale_token_calls_off(world: &dyn World) {
    assert_refused(world, Operation::Nack(NackKind::Cancelled)).await;
}

/// R4.1: no other token does any of this in an exchange.
/// Guard: the same, in the nack part of exchange.
pub async fn r4_1_no_stale_token_nacks_in_an_exchange(world: &dyn World) {
    let stale = stale_tokens(world).await;
    for kind in [NackKind::Retry, NackKind::Release, NackKind::Fatal, NackKind::Cancelled] {
        assert_each_refused(world, Operation::ExchangeNack(kind), &stale).await;
    }
    assert_live_leases_hold(world, stale).await;
}

/// R6.1: only the token of the live lease can dead-letter its job.
/// Guard: the lease's id, number, nonce and queue in the condition of a dead-lettering by lease.
pub async fn r6_1_no_stale_token_dead_letters(world: &dyn World) {
    assert_refused(world, Operation::DeadLetter).await;
}

/// R13.10: only the token of the live lease can store a checkpoint.
/// Guard: the lease's id, number, nonce and queue in the condition of a checkpoint.
pub async fn r13_10_no_stale_token_stores_a_checkpoint(world: &dyn World) {
    assert_refused(world, Operation::Checkpoint).await;
}

async fn assert_refused(world: &dyn World, operation: Operation) {
    let stale = stale_tokens(world).await;
    assert_each_refused(world, operation, &stale).await;
    assert_live_leases_hold(world, stale).await;
}

/// A dump takes longer than a call, so the dumps are compared once, at the end.
async fn assert_each_refused(world: &dyn World, operation: Operation, stale: &[Stale]) {
    let before = world.dump().await;
    let tokens: Vec<LeaseToken> = stale.iter().map(|stale| stale.token.clone()).collect();
    for (stale, token) in stale.iter().zip(&tokens) {
        let answers = operation.call(world, std::slice::from_ref(token)).await;
        stale.assert_refused(operation, &answers[0]);
    }
    world.assert_unchanged_by(&before, &format!("{operation:?}, token by token,")).await;
    let answers = operation.call(world, &tokens).await;
    assert_eq!(answers.len(), tokens.len(), "an outcome per item");
    for (stale, answer) in stale.iter().zip(&answers) {
        stale.assert_refused(operation, answer);
    }
    world.assert_unchanged_by(&before, &format!("{operation:?}, all in one batch,")).await;
}

/// The right token of each lease still completes its job: the stale ones have changed nothing.
async fn assert_live_leases_hold(world: &dyn World, stale: Vec<Stale>) {
    for live in stale.into_iter().filter_map(|stale| stale.live) {
        world.complete(&live).await;
    }
}
