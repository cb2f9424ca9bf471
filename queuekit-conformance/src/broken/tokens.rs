//! The memory of broken stores.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use queuekit_core::{JobId, LeaseToken, Nonce, Reserved};

/// The leases that were granted, to be misused.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    latest: Mutex<HashMap<JobId, LeaseToken>>,
}

impl Tokens {
    pub(super) fn remember(&self, reserved: &Reserved) {
        let tokens = reserved.leases.iter().map(|lease| (lease.id(), lease.token.clone()));
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).extend(tokens);
    }

    /// The last lease of a job.
    pub(super) fn latest(&self, id: JobId) -> Option<LeaseToken> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    /// The last lease of the token's job, or else the token.
    pub(super) fn of_same_job(&self, token: &LeaseToken) -> LeaseToken {
        self.latest(token.id).unwrap_or_else(|| token.clone())
    }

    /// The token with the nonce it should have had.
    pub(super) fn with_right_nonce(&self, token: &LeaseToken) -> LeaseToken {
        let same = self.latest(token.id).filter(|latest| latest.lease_seq == token.lease_seq);
        let nonce: Nonce = same.map_or(token.nonce, |latest| latest.nonce);
        LeaseToken { nonce, ..token.clone() }
    }
}
