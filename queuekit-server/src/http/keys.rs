//! API keys: who may do what, with which queues and types.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use queuekit::{Clock, SystemClock};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

use super::bucket::Bucket;
use super::glob::Glob;

/// A time at which no key was used.
const NEVER: i64 = i64::MIN;

/// Longest time between two looks at the clock, which may be set meanwhile.
const LOOK: Duration = Duration::from_secs(3600);

/// What a key opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scope {
    /// Reading jobs, queues, figures.
    Read,
    /// Storing jobs and events.
    Enqueue,
    /// Reserving and settling.
    Work,
    /// Schedules and subscriptions: what makes jobs without a request.
    Manage,
    /// Everything.
    Admin,
}

/// One `[[keys]]` of `queuekit.toml`. It holds no secret: what is stored is a digest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyEntry {
    /// For people and logs.
    pub(crate) id: String,
    /// Of the whole key as it is sent, in hex.
    pub(crate) sha256: KeyDigest,
    /// What it opens.
    pub(crate) scopes: Vec<Scope>,
    /// The queues it is for; all if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) queues: Vec<Glob>,
    /// The types of jobs it is for; all if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) types: Vec<Glob>,
    /// How much it may do in a second: each request, job or event of a batch, and delivery is one;
    /// so is each job of its schedules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) per_second: Option<NonZeroU32>,
    /// From when on it opens nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<Timestamp>,
}

/// The SHA-256 of a key: its secret has 256 bits, so that no slow hash is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct KeyDigest([u8; 32]);

/// All keys that let somebody in; clones share them, so that all see it when others are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys(Arc<RwLock<Arc<[Arc<Key>]>>>);

/// One of them, and what it has left to spend.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) entry: KeyEntry,
    bucket: Option<Bucket>,
    /// In ms.
    last_used: AtomicI64,
    /// Whether it was taken away.
    removed: CancellationToken,
}

/// A key that was made now: its text is shown once and stored nowhere.
pub(crate) struct NewKey {
    /// What clients send.
    pub(crate) secret: String,
    /// What the server is told.
    pub(crate) entry: KeyEntry,
}

impl Keys {
    /// Those of the configuration, and one for everything if it is given as it is sent.
    pub(crate) fn new(entries: Vec<KeyEntry>, admin: Option<&str>) -> Self {
        let admin = admin.map(|secret| KeyEntry {
            id: "QUEUEKIT_API_KEY".to_owned(),
            sha256: KeyDigest::of(secret),
            scopes: vec![Scope::Admin],
            queues: Vec::new(),
            types: Vec::new(),
            per_second: None,
            expires: None,
        });
        let key = |entry: KeyEntry| {
            let bucket = entry.per_second.map(Bucket::new);
            let (last_used, removed) = (AtomicI64::new(NEVER), CancellationToken::new());
            Arc::new(Key { entry, bucket, last_used, removed })
        };
        Self(Arc::new(RwLock::new(entries.into_iter().chain(admin).map(key).collect())))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all().is_empty()
    }

    /// Those there are now.
    pub(crate) fn all(&self) -> Arc<[Arc<Key>]> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes these instead. One that is there as before keeps what it has spent; what goes on under
    /// one that is gone, or is for something else now, comes to its end.
    pub(crate) fn replace(&self, with: &Self) {
        let with = with.all();
        let mut own = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let known = |key: &Arc<Key>| own.iter().find(|old| old.entry == key.entry).cloned();
        let next: Arc<[_]> = with.iter().map(|key| known(key).unwrap_or(Arc::clone(key))).collect();
        let is_gone = |old: &&Arc<Key>| !next.iter().any(|key| Arc::ptr_eq(key, old));
        own.iter().filter(is_gone).for_each(|old| old.removed.cancel());
        *own = next;
    }

    /// The key that was sent, unless it has expired. Every key is compared, in constant time, so
    /// that the answer comes as late for a text that is nearly right as for any other.
    pub(crate) fn find(&self, sent: &str, now: Timestamp) -> Option<Arc<Key>> {
        let digest = KeyDigest::of(sent);
        let mut found = None;
        let all = self.all();
        for key in &*all {
            if bool::from(key.entry.sha256.0.ct_eq(&digest.0)) {
                found = Some(key);
            }
        }
        let is_valid = |key: &&Arc<Key>| key.entry.expires.is_none_or(|end| now < end);
        let found = found.filter(is_valid).map(Arc::clone);
        found.inspect(|key| key.last_used.store(now.as_millisecond(), Ordering::Relaxed))
    }
}

impl Key {
    /// When it was last sent and had not expired; none if that has not been.
    pub(crate) fn last_used(&self) -> Option<Timestamp> {
        let millis = self.last_used.load(Ordering::Relaxed);
        Timestamp::from_millisecond(millis).ok().filter(|_| millis != NEVER)
    }

    /// Comes when it opens nothing any more.
    pub(crate) async fn ended(&self) {
        let expired = async {
            let Some(end) = self.entry.expires else { return std::future::pending().await };
            // A span below zero is no duration: it has ended.
            while let Ok(left) = Duration::try_from(end.duration_since(now())) {
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left.min(LOOK)).await;
            }
        };
        tokio::select! {
            () = expired => {}
            () = self.removed.cancelled() => {}
        }
    }

    /// Takes so much of what it may do; how long to wait, if that is too much now.
    pub(crate) fn spend(&self, cost: usize) -> Result<(), Duration> {
        self.bucket.as_ref().map_or(Ok(()), |bucket| bucket.take(cost, Instant::now()))
    }

    /// The same of what was done already.
    pub(crate) fn owe(&self, cost: usize) {
        self.bucket.iter().for_each(|bucket| bucket.owe(cost, Instant::now()));
    }
}

impl KeyEntry {
    pub(crate) fn has(&self, scope: Scope) -> bool {
        self.scopes.iter().any(|own| *own == scope || *own == Scope::Admin)
    }

    pub(crate) fn sees_queue(&self, queue: &str) -> bool {
        self.queues.is_empty() || self.queues.iter().any(|glob| glob.matches(queue))
    }

    pub(crate) fn sees_type(&self, kind: &str) -> bool {
        self.types.is_empty() || self.types.iter().any(|glob| glob.matches(kind))
    }

    /// Whether it is for some queues or types only.
    pub(crate) fn is_bound(&self) -> bool {
        !self.queues.is_empty() || !self.types.is_empty()
    }
}

impl KeyDigest {
    fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret).into())
    }
}

impl NewKey {
    /// Draws a key of this name.
    pub(crate) fn draw(id: &str, scopes: Vec<Scope>) -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        let secret = format!("qk_{id}_{}", URL_SAFE_NO_PAD.encode(bytes));
        let sha256 = KeyDigest::of(&secret);
        let entry = KeyEntry {
            id: id.to_owned(),
            sha256,
            scopes,
            queues: Vec::new(),
            types: Vec::new(),
            per_second: None,
            expires: None,
        };
        Ok(Self { secret, entry })
    }
}

impl fmt::Display for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl From<KeyDigest> for String {
    fn from(digest: KeyDigest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for KeyDigest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
        let digest = bytes.and_then(|bytes| bytes.try_into().ok());
        let limit = "64 hex digits, as `queuekit key new` prints them";
        digest.map(Self).ok_or_else(|| format!("sha256 must be {limit}"))
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "read" => Ok(Self::Read),
            "enqueue" => Ok(Self::Enqueue),
            "work" => Ok(Self::Work),
            "manage" => Ok(Self::Manage),
            "admin" => Ok(Self::Admin),
            _ => Err("a scope is read, enqueue, work, manage or admin".to_owned()),
        }
    }
}

/// By this machine's clock.
pub(super) fn now() -> Timestamp {
    let millis = SystemClock::default().now().as_millis();
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn s2_a_key_is_found_by_what_is_sent_until_it_expires() {
        let mut new = NewKey::draw("ci", vec![Scope::Enqueue]).unwrap();
        new.entry.expires = Some(at("2026-12-01T00:00:00Z"));
        let keys = Keys::new(vec![new.entry.clone()], Some("hunter2"));
        let now = at("2026-11-01T00:00:00Z");
        let last_used = || keys.all().iter().map(|key| key.last_used()).collect::<Vec<_>>();
        assert_eq!(last_used(), [None, None]);
        assert_eq!(keys.find(&new.secret, now).unwrap().entry.id, "ci");
        assert_eq!(last_used(), [Some(now), None]);
        assert!(keys.find("hunter2", now).unwrap().entry.has(Scope::Work));
        assert!(keys.find(&new.secret, at("2026-12-01T00:00:00Z")).is_none());
        for wrong in
            ["", "hunter", &new.secret[..new.secret.len() - 1], &new.entry.sha256.to_string()]
        {
            assert!(keys.find(wrong, now).is_none(), "{wrong}");
        }
        assert_eq!(last_used(), [Some(now), Some(now)], "what lets nobody in is not used");
    }

    #[tokio::test(start_paused = true)]
    async fn s2_a_key_ends_when_it_is_taken_away_or_expires() {
        let entry = |id: &str| NewKey::draw(id, vec![Scope::Read]).unwrap().entry;
        let (stays, goes, mut changes) = (entry("stays"), entry("goes"), entry("changes"));
        let keys = Keys::new(vec![stays.clone(), goes, changes.clone()], None);
        let before = keys.all();
        changes.scopes = vec![Scope::Work];
        keys.clone().replace(&Keys::new(vec![stays, changes], None));
        assert!(Arc::ptr_eq(&before[0], &keys.all()[0]), "what it has spent is kept");
        before[1].ended().await;
        before[2].ended().await;
        let ended = tokio::time::timeout(Duration::from_secs(1_000_000), before[0].ended());
        ended.await.expect_err("it is there as before");
        let mut old = entry("old");
        old.expires = Some(at("2020-01-01T00:00:00Z"));
        Keys::new(vec![old], None).all()[0].ended().await;
    }

    #[test]
    fn s11_globs_bind_a_key_and_none_bind_nothing() {
        let mut key = NewKey::draw("k", vec![Scope::Read]).unwrap().entry;
        assert!(key.sees_queue("any") && key.sees_type("any") && !key.is_bound());
        key.queues = vec!["acme.*".parse().unwrap(), "shared".parse().unwrap()];
        assert!(key.sees_queue("acme.mail") && key.sees_queue("shared"));
        assert!(!key.sees_queue("acme") && !key.sees_queue("other"));
        assert!(key.has(Scope::Read) && !key.has(Scope::Enqueue));
    }

    #[test]
    fn an_entry_is_read_as_it_is_printed() {
        let entry = NewKey::draw("k", vec![Scope::Work]).unwrap().entry;
        let text = toml::to_string(&entry).unwrap();
        assert_eq!(toml::from_str::<KeyEntry>(&text).unwrap(), entry);
        assert!(toml::from_str::<KeyEntry>(&text.replace("work", "walk")).is_err());
    }
}
