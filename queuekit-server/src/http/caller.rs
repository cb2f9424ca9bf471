//! Who is asking, and what they may do.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use queuekit::{Job, Kind, QueueName};

use super::keys::{Key, KeyEntry, Keys, Scope, now};
use super::problem::Problem;

/// The queues of consumers begin with it: a key that is bound to queues emits if it is for these.
const EVENTS: &str = "event.";

/// Who sent a request: the holder of a key, or anybody where no keys are asked for.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    key: Option<Arc<Key>>,
    peer: Option<Peer>,
}

/// The other end of a connection: behind a proxy, the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer(pub(crate) IpAddr);

impl Caller {
    /// Whoever runs this program: may do everything.
    pub(crate) fn operator() -> Self {
        Self { key: None, peer: None }
    }

    /// Finds out who sent this.
    ///
    /// # Errors
    /// 401 if keys are asked for and this one is none of them.
    pub(crate) fn of(keys: &Keys, is_open: bool, parts: &Parts) -> Result<Self, Problem> {
        let peer = parts.extensions.get().copied();
        if is_open {
            return Ok(Self { key: None, peer });
        }
        let found = sent_key(parts).and_then(|key| keys.find(key, now()));
        found.map(|key| Self { key: Some(key), peer }).ok_or_else(|| {
            let detail = "send a key of this server as `Authorization: Bearer qk_..`; \
                          `queuekit key new` makes one";
            Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
        })
    }

    /// # Errors
    /// 403 if the key does not open this.
    pub(crate) fn need(&self, scope: Scope) -> Result<(), Problem> {
        match self.entry() {
            Some(key) if !key.has(scope) => {
                let wanted = serde_json::to_string(&scope).unwrap_or_default();
                let detail = format!("the key {} lacks the scope {wanted}", key.id);
                Err(Problem::forbidden(detail))
            }
            _ => Ok(()),
        }
    }

    /// Counts so much against what the key may do in a second.
    ///
    /// # Errors
    /// 429 if that is too much now.
    pub(crate) fn spend(&self, cost: usize) -> Result<(), Problem> {
        let Some(key) = &self.key else { return Ok(()) };
        key.spend(cost).map_err(|wait| {
            let detail = format!("the key {} has done all it may in a second", key.entry.id);
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail);
            problem.retry_after(wait)
        })
    }

    /// The same for the items of a batch, of which its request has paid for one.
    ///
    /// # Errors
    /// 413 if it never may send as many at once; 429 if that is too much now.
    pub(crate) fn spend_batch(&self, items: usize) -> Result<(), Problem> {
        let most = self.per_second().map(|most| most.get() as usize);
        if let Some(most) = most.filter(|most| items > *most) {
            let detail = format!(
                "the key {} may send {most} in a second (per_second), and these are {items}: send \
                 at most {most} at once",
                self.id()
            );
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail));
        }
        self.spend(items.saturating_sub(1))
    }

    /// Counts so much that was done for it, and not by itself: it waits for that with what it does
    /// next.
    pub(crate) fn owe(&self, cost: usize) {
        self.key.iter().for_each(|key| key.owe(cost));
    }

    /// How much its key may do in a second, if that is bounded.
    pub(crate) fn per_second(&self) -> Option<NonZeroU32> {
        self.entry()?.per_second
    }

    /// The id of its key, if what it creates is counted: one for everything may remove it, too.
    pub(crate) fn counted(&self) -> Option<&str> {
        self.entry().filter(|key| !key.has(Scope::Admin)).map(|key| key.id.as_str())
    }

    fn entry(&self) -> Option<&KeyEntry> {
        self.key.as_deref().map(|key| &key.entry)
    }

    pub(crate) fn has(&self, scope: Scope) -> bool {
        self.entry().is_none_or(|key| key.has(scope))
    }

    /// # Errors
    /// 403 if the key is not for this queue.
    pub(crate) fn need_queue(&self, queue: &str) -> Result<(), Problem> {
        match self.entry() {
            Some(key) if !key.sees_queue(queue) => {
                Err(Problem::forbidden(format!("the key {} is not for queue {queue}", key.id)))
            }
            _ => Ok(()),
        }
    }

    /// # Errors
    /// 403 if the key is bound to queues, and not to those of consumers.
    pub(crate) fn need_events(&self) -> Result<(), Problem> {
        match self.entry() {
            Some(key) if !key.sees_queue(EVENTS) => {
                let detail =
                    format!("the key {} is not for events: it needs queue event.*", key.id);
                Err(Problem::forbidden(detail))
            }
            _ => Ok(()),
        }
    }

    /// # Errors
    /// 403 if the key is not for this type.
    pub(crate) fn need_type(&self, kind: &str) -> Result<(), Problem> {
        match self.entry() {
            Some(key) if !key.sees_type(kind) => {
                Err(Problem::forbidden(format!("the key {} is not for type {kind}", key.id)))
            }
            _ => Ok(()),
        }
    }

    /// What is hidden from a key is not looked through for it, so that neither cursors nor counts
    /// tell of it.
    ///
    /// # Errors
    /// 403 if the key is bound, and the filter does not name what it is for.
    pub(crate) fn need_named(
        &self,
        queue: Option<&QueueName>,
        kind: Option<&Kind>,
    ) -> Result<(), Problem> {
        let unnamed = |what| Problem::forbidden(format!("the key is bound: name the {what}"));
        let key = self.entry();
        match queue {
            Some(queue) => self.need_queue(queue.as_str())?,
            None if key.is_some_and(|key| !key.queues.is_empty()) => return Err(unnamed("queue")),
            None => {}
        }
        match kind {
            Some(kind) => self.need_type(kind.as_str()),
            None if self.is_bound_to_types() => Err(unnamed("type")),
            None => Ok(()),
        }
    }

    pub(crate) fn sees_queue(&self, queue: &str) -> bool {
        self.entry().is_none_or(|key| key.sees_queue(queue))
    }

    pub(crate) fn sees_type(&self, kind: &str) -> bool {
        self.entry().is_none_or(|key| key.sees_type(kind))
    }

    pub(crate) fn sees(&self, job: &Job) -> bool {
        self.sees_queue(job.queue.as_str()) && self.sees_type(job.kind.as_str())
    }

    /// Whether some queues or types are hidden from it.
    pub(crate) fn is_bound(&self) -> bool {
        self.entry().is_some_and(|key| key.is_bound())
    }

    /// Whether some types are hidden from it.
    pub(crate) fn is_bound_to_types(&self) -> bool {
        self.entry().is_some_and(|key| !key.types.is_empty())
    }

    /// The id of its key, if it has one.
    pub(crate) fn key(&self) -> Option<&str> {
        self.entry().map(|key| key.id.as_str())
    }

    /// For the log.
    pub(crate) fn id(&self) -> &str {
        self.entry().map_or("-", |key| &key.id)
    }

    /// For the log.
    pub(crate) fn peer(&self) -> String {
        peer_text(self.peer)
    }

    /// Comes when the key opens nothing any more, because it has expired or was taken away: what
    /// goes on for long ends then.
    pub(crate) async fn ended(&self) {
        match &self.key {
            Some(key) => key.ended().await,
            None => std::future::pending().await,
        }
    }
}

/// The key that was sent, whether or not it is one of ours.
pub(super) fn sent_key(parts: &Parts) -> Option<&str> {
    let sent = parts.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = sent.split_once(' ')?;
    Some(key.trim()).filter(|key| scheme.eq_ignore_ascii_case("bearer") && !key.is_empty())
}

pub(super) fn peer_text(peer: Option<Peer>) -> String {
    peer.map_or_else(|| "-".to_owned(), |Peer(address)| address.to_canonical().to_string())
}

/// What the door has put there: nothing gets past it without.
impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| {
            let detail = "this route was reached without the check of keys; report a bug";
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use axum::http::Request;

    use super::*;
    use crate::http::keys::NewKey;

    /// The holder of a new key that may do so much in a second.
    pub(crate) fn caller_of(id: &str, per_second: u32) -> Caller {
        let mut key = NewKey::draw(id, vec![Scope::Work]).unwrap();
        key.entry.per_second = NonZeroU32::new(per_second);
        let sent = format!("Bearer {}", key.secret);
        let request = Request::builder().header("authorization", sent).body(()).unwrap();
        Caller::of(&Keys::new(vec![key.entry], None), false, &request.into_parts().0).unwrap()
    }
}
