//! Authentication and authorization: who is asking, and what they may do.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{Extensions, StatusCode};
use queuekit::jobs::Kind;
use queuekit::{Job, QueueName};

use super::connection_end::ConnectionEnd;
use super::glob::Glob;
use super::keys::{Key, KeyEntry, Keys, Scope, now};
use super::operator;
use super::problem::Problem;

/// Prefix of the queues of consumers: a key that is restricted to queues needs them to emit.
const EVENTS: &str = "event.";

/// Who sent a request: the holder of a key, or anybody on a server without keys.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    key: Option<Arc<Key>>,
    peer: Option<Peer>,
    connection: Option<ConnectionEnd>,
}

/// The other end of a connection; behind a proxy, that is the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer(pub(crate) IpAddr);

impl Caller {
    /// The operator who runs this program, and may do everything.
    pub(crate) fn operator() -> Self {
        Self { key: None, peer: None, connection: None }
    }

    /// The holder of this key.
    pub(crate) fn holder(key: Arc<Key>, peer: Option<Peer>) -> Self {
        Self { key: Some(key), peer, connection: None }
    }

    /// Anybody, who may do everything: on a server without keys, or before the check of keys.
    pub(crate) fn anybody(peer: Option<Peer>) -> Self {
        Self { key: None, peer, connection: None }
    }

    /// The sender of this request.
    ///
    /// # Errors
    /// 401 if the server has keys and the request has none of them.
    pub(crate) fn of(keys: &Keys, is_open: bool, parts: &Parts) -> Result<Self, Problem> {
        let peer = parts.extensions.get().copied();
        if is_open {
            return Ok(Self::anybody(peer).on(&parts.extensions));
        }
        let found = sent_key(parts).and_then(|key| keys.find(key, now()));
        found.map(|key| Self::holder(key, peer).on(&parts.extensions)).ok_or_else(|| {
            let detail = "send a key of this server as `Authorization: Bearer qk_..`; \
                          `queuekit key new` creates one";
            Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
        })
    }

    /// The same, on the connection of a request with these extensions.
    #[must_use]
    pub(crate) fn on(self, request: &Extensions) -> Self {
        Self { connection: request.get().cloned(), ..self }
    }

    /// What ends the connection of the request; none of calls within this program.
    pub(crate) fn connection(&self) -> Option<&ConnectionEnd> {
        self.connection.as_ref()
    }

    /// # Errors
    /// 403 if the key does not have this scope.
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

    /// Counts this cost against the key's `per_second`.
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

    /// The same for the items of a batch; the request itself has paid for one of them.
    ///
    /// # Errors
    /// 413 if the key may never send this many at once; 429 if that is too much now.
    pub(crate) fn spend_batch(&self, items: usize) -> Result<(), Problem> {
        let most = self.per_second().map(|most| most.get() as usize);
        if let Some(most) = most.filter(|most| items > *most) {
            let detail = format!(
                "the batch has {items} items, and the key {} may send {most} in a second \
                 (per_second): send at most {most} at once",
                self.id()
            );
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail));
        }
        // The request itself was charged when it was admitted.
        self.spend(items.saturating_sub(1))
    }

    /// Counts a cost that has arisen already: the key's next requests wait for it.
    pub(crate) fn owe(&self, cost: usize) {
        self.key.iter().for_each(|key| key.owe(cost));
    }

    /// The key's `per_second`, if it has one.
    pub(crate) fn per_second(&self) -> Option<NonZeroU32> {
        self.entry()?.per_second
    }

    /// The id of the key, if it has quotas. A key with `admin` for all queues and kinds has none,
    /// because it may remove what others have created.
    pub(crate) fn counted(&self) -> Option<&str> {
        let counted = self.entry().filter(|key| !key.has(Scope::Admin) || key.is_bound());
        counted.map(|key| key.id.as_str())
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
    /// 403 if the key is restricted to queues, and not to those of consumers.
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
    /// 403 without the scope `admin`, or if the key is restricted: what the store says about itself
    /// is about all queues and kinds.
    pub(crate) fn need_whole_store(&self) -> Result<(), Problem> {
        self.need(Scope::Admin)?;
        match self.entry() {
            Some(key) if key.is_bound() => Err(Problem::forbidden(format!(
                "the key {} is restricted, and this is about all queues: use a key with the scope \
                 admin that is restricted to no queues and kinds",
                key.id
            ))),
            _ => Ok(()),
        }
    }

    /// # Errors
    /// 403 if the key is not for this kind.
    pub(crate) fn need_kind(&self, kind: &str) -> Result<(), Problem> {
        match self.entry() {
            Some(key) if !key.sees_kind(kind) => {
                Err(Problem::forbidden(format!("the key {} is not for kind {kind}", key.id)))
            }
            _ => Ok(()),
        }
    }

    /// A restricted key must name its queue and kind, so that no search passes through jobs that
    /// are hidden from it: cursors and counts would reveal them.
    ///
    /// # Errors
    /// 403 if the key is restricted, and the filter does not name what the key is for.
    pub(crate) fn need_named(
        &self,
        queue: Option<&QueueName>,
        kind: Option<&Kind>,
    ) -> Result<(), Problem> {
        let unnamed = |what| Problem::forbidden(format!("the key is restricted: name the {what}"));
        let key = self.entry();
        match queue {
            Some(queue) => self.need_queue(queue.as_str())?,
            None if key.is_some_and(|key| !key.queues.is_empty()) => return Err(unnamed("queue")),
            None => {}
        }
        match kind {
            Some(kind) => self.need_kind(kind.as_str()),
            None if self.is_bound_to_kinds() => Err(unnamed("kind")),
            None => Ok(()),
        }
    }

    pub(crate) fn sees_queue(&self, queue: &str) -> bool {
        self.entry().is_none_or(|key| key.sees_queue(queue))
    }

    /// The name behind which the next queue is that the caller may see, among those behind `after`.
    /// None if there is no such queue.
    pub(crate) fn next_seen(&self, after: Option<QueueName>) -> Option<Option<QueueName>> {
        match self.entry() {
            Some(key) => key.next_seen(after),
            None => Some(after),
        }
    }

    /// The queues that the key is for, if it names them without patterns.
    pub(crate) fn named_queues(&self) -> Option<Vec<QueueName>> {
        self.entry()?.named_queues()
    }

    pub(crate) fn sees_kind(&self, kind: &str) -> bool {
        self.entry().is_none_or(|key| key.sees_kind(kind))
    }

    pub(crate) fn sees(&self, job: &Job) -> bool {
        self.sees_queue(job.queue.as_str()) && self.sees_kind(job.kind.as_str())
    }

    /// Whether the key is restricted to some queues or kinds.
    pub(crate) fn is_bound(&self) -> bool {
        self.entry().is_some_and(|key| key.is_bound())
    }

    /// Whether the key is restricted to some kinds.
    pub(crate) fn is_bound_to_kinds(&self) -> bool {
        self.entry().is_some_and(|key| !key.kinds.is_empty())
    }

    /// The patterns of queues and of kinds that the key is restricted to.
    pub(crate) fn globs(&self) -> (Vec<String>, Vec<String>) {
        let texts = |globs: &[Glob]| globs.iter().cloned().map(String::from).collect();
        let entry = self.entry();
        entry.map(|key| (texts(&key.queues), texts(&key.kinds))).unwrap_or_default()
    }

    /// The id of its key, if it has one.
    pub(crate) fn key(&self) -> Option<&str> {
        self.entry().map(|key| key.id.as_str())
    }

    /// For the log.
    pub(crate) fn id(&self) -> &str {
        self.entry().map_or("-", |key| &key.id)
    }

    /// For the audit log: the key's id, or the account that runs this command. On a server without
    /// keys, callers are unknown.
    pub(crate) fn who(&self) -> &str {
        match (self.entry(), self.peer) {
            (Some(key), _) => &key.id,
            (None, Some(_)) => "-",
            (None, None) => operator::account(),
        }
    }

    /// For the log.
    pub(crate) fn peer(&self) -> String {
        peer_text(self.peer)
    }

    /// Completes when the key has expired or was removed, so that streams can end.
    pub(crate) async fn ended(&self) {
        match &self.key {
            Some(key) => key.ended().await,
            None => std::future::pending().await,
        }
    }
}

/// The key that was sent, whether or not the server has it.
pub(crate) fn sent_key(parts: &Parts) -> Option<&str> {
    let sent = parts.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = sent.split_once(' ')?;
    Some(key.trim()).filter(|key| scheme.eq_ignore_ascii_case("bearer") && !key.is_empty())
}

pub(crate) fn peer_text(peer: Option<Peer>) -> String {
    peer.map_or_else(|| "-".to_owned(), |Peer(address)| address.to_canonical().to_string())
}

/// The middleware puts it there: no request gets past it without a caller.
impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| {
            let detail = "this route was reached without the check of keys; report this bug";
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use axum::http::Request;

    use super::*;
    use crate::web::keys::NewKey;

    /// The holder of a new key that may do so much in a second.
    pub(crate) fn caller_of(id: &str, per_second: u32) -> Caller {
        let mut key = NewKey::draw(id, vec![Scope::Work]).unwrap();
        key.entry.per_second = NonZeroU32::new(per_second);
        holder(key)
    }

    /// The holder of a new key for queues of these names, separated by spaces, and for 5 requests
    /// per second.
    pub(crate) fn caller_for(queues: &str, scope: Scope) -> Caller {
        let mut key = NewKey::draw("k", vec![scope]).unwrap();
        key.entry.queues = queues.split(' ').map(|glob| glob.parse().unwrap()).collect();
        key.entry.per_second = NonZeroU32::new(5);
        holder(key)
    }

    /// The holder of a new key for jobs of this kind, and for 5 requests per second.
    pub(crate) fn caller_for_kind(kind: &str, scope: Scope) -> Caller {
        let mut key = NewKey::draw("k", vec![scope]).unwrap();
        key.entry.kinds = vec![kind.parse().unwrap()];
        key.entry.per_second = NonZeroU32::new(5);
        holder(key)
    }

    fn holder(key: NewKey) -> Caller {
        let sent = format!("Bearer {}", key.secret);
        let request = Request::builder().header("authorization", sent).body(()).unwrap();
        Caller::of(&Keys::new(vec![key.entry], None), false, &request.into_parts().0).unwrap()
    }
}
