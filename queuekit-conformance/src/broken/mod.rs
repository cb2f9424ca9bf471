//! Stores that each break one rule, to test the suite itself: each of them must fail.
//!
//! They are layers that misuse the public API of a store that keeps the rules: they remember
//! tokens, replay calls, rewrite outcomes.

mod attempts;
mod batches;
mod clock;
mod fence;
mod keys;
mod leasing;
mod order;
mod orders;
mod outcomes;
mod tokens;

use std::sync::Arc;

use queuekit_core::Backend;

use crate::Wrapped;

/// One way to be broken.
#[derive(Clone, Copy, Debug)]
pub struct BrokenStore {
    /// The fault, in a few words.
    pub name: &'static str,
    /// The rule it breaks; a case of this rule must fail.
    pub rule: &'static str,
    /// Breaks a store.
    pub wrap: fn(Arc<dyn Backend>) -> Arc<dyn Backend>,
}

macro_rules! broken_stores {
    ($($layer:path: $rule:literal, $name:literal;)*) => {
        /// Every broken store.
        pub const BROKEN: &[BrokenStore] = &[$(BrokenStore {
            name: $name,
            rule: $rule,
            wrap: |inner| Arc::new(Wrapped(<$layer>::new(inner))),
        },)*];
    };
}

broken_stores! {
    fence::Unfenced: "R3.3", "settles by id: a stale lease ends the live one";
    fence::IgnoresNonce: "R3.1", "compares the number of a lease, not its nonce";
    fence::ExtendsAnyLease: "R3.7", "extends the live lease for whoever asks";
    attempts::CountsAtNack: "R1.5", "counts attempts at nack: a crash costs none";
    attempts::ReclaimsForEver: "R5.7", "reclaims without the check of attempts";
    clock::ClientClock: "R0.4", "turns delays into instants of the client's clock";
    clock::RunsEarly: "R9.3", "runs jobs 1 ms before their time";
    keys::LeaksSlotOnCancel: "R6.5", "keeps the slot of a key when its job is cancelled";
    keys::TouchesDuplicates: "R2.5", "reschedules the job that a duplicate names";
    keys::FreesKeyEarly: "R2.5", "frees an idempotency key 1 ms before its window ends";
    keys::FreesKeyAtEnd: "R2.5", "frees an idempotency key when its job ends";
    order::LosesPriority: "R7.1", "stores the priority and does not serve by it";
    order::PagesByOffset: "R8.2", "has offsets for cursors";
    order::ListsRecentByQueue: "R8.7", "lists what is recent queue by queue";
    orders::AnswersOnce: "R3.9", "forgets an order that it has answered";
    orders::IgnoresObeyed: "R3.9", "answers an order that was obeyed";
    leasing::LeasesTwice: "R0.3", "hands the last lease out again";
    leasing::LateExpiry: "R5.6", "reclaims 1 ms after the expiry";
    leasing::EarlyExpiry: "R5.2", "reclaims 1 ms before the expiry";
    batches::SplitsEnqueue: "R2.3", "stores the jobs of a call one by one";
    batches::StopsAtFirstFailure: "R3.6", "lets one bad lease spoil its batch";
    outcomes::AcksAgain: "R3.3", "answers Acked to an ack that is repeated";
    outcomes::InsertsOnAck: "R3.5", "makes a job of the id of an unknown lease";
    outcomes::NeverCloses: "R10.4", "goes on after close";
    outcomes::ForgetsCause: "R4.8", "forgets why a job was released";
    outcomes::OverwritesReason: "R6.1", "dead-letters again what is dead";
}
