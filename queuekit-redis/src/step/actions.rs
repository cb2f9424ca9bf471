//! Actions on jobs, as the script takes and answers them.

use queuekit_core::{Error, ErrorKind, JobId, LeaseToken, QueueName, Result, Signature};

use crate::codec::token;
use crate::error::answered;

/// One action on one job.
#[derive(Clone, Debug)]
pub(crate) struct Action {
    id: JobId,
    what: &'static str,
    text: Vec<u8>,
    reason: Vec<u8>,
    signature: Vec<u8>,
    /// The queue of a lease. It is needed because the ids of two queues may end in the same bytes.
    queue: Option<QueueName>,
}

/// The result of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acted {
    Done,
    Already,
    Conflict,
    Lost,
    Unknown,
    Requested,
}

impl Action {
    pub(crate) fn new(what: &'static str, id: JobId) -> Self {
        let [text, reason, signature] = Default::default();
        Self { id, what, text, reason, signature, queue: None }
    }

    pub(crate) fn with(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.text = text.into();
        self
    }

    /// `what` is dead_letter or dead_letter_forced.
    pub(crate) fn dead_letter(what: &'static str, id: JobId, reason: &str) -> Self {
        let signature = Signature::of(reason).to_stored().into();
        Self { text: reason.into(), signature, ..Self::new(what, id) }
    }

    pub(crate) fn dead_letter_lease(lease: &LeaseToken, reason: &str) -> Self {
        let signature = Signature::of(reason).to_stored().into();
        Self { reason: reason.into(), signature, ..Self::of_lease("dead_letter_lease", lease) }
    }

    pub(crate) fn quarantine(lease: &LeaseToken) -> Self {
        Self::of_lease("quarantine", lease)
    }

    fn of_lease(what: &'static str, lease: &LeaseToken) -> Self {
        Self { text: token(lease), queue: Some(lease.queue.clone()), ..Self::new(what, lease.id) }
    }

    pub(crate) fn id(&self) -> JobId {
        self.id
    }

    pub(crate) fn args(&self) -> [Vec<u8>; 5] {
        let (text, reason) = (self.text.clone(), self.reason.clone());
        [self.what.into(), self.id.as_bytes().to_vec(), text, reason, self.signature.clone()]
    }

    pub(crate) fn may_be_of(&self, queue: &QueueName) -> bool {
        self.queue.as_ref().is_none_or(|of| of == queue)
    }
}

impl Acted {
    pub(crate) fn read(word: &[u8], id: JobId) -> Result<Self> {
        Ok(match word {
            b"done" => Self::Done,
            b"already" => Self::Already,
            b"conflict" => Self::Conflict,
            b"lost" => Self::Lost,
            b"unknown" => Self::Unknown,
            b"requested" => Self::Requested,
            b"unreadable" => {
                let message = "its record cannot be read; the next reserve of its queue \
                               dead-letters it";
                return Err(Error::new(ErrorKind::Corrupt, message).on(id));
            }
            _ => return Err(answered("an action")),
        })
    }
}
