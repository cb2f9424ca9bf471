//! API keys: what each allows, for which queues and kinds.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use queuekit::store::{Clock, SystemClock};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

use super::glob::Glob;
use super::rate_limit::RateLimit;

/// Marks a key that was never used.
const NEVER: i64 = i64::MIN;

/// Longest time between two reads of the clock, which may be set meanwhile.
const LOOK: Duration = Duration::from_secs(3600);

/// What a key allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scope {
    /// Reading jobs, queues and metrics.
    Read,
    /// Enqueuing jobs and emitting events.
    Enqueue,
    /// Reserving and settling jobs.
    Work,
    /// Changing schedules and subscriptions, which make jobs without a request.
    Manage,
    /// Everything.
    Admin,
}

/// One `[[keys]]` of `queuekit.toml`. It holds a digest of the key, which is not a secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyEntry {
    /// Name of the key, for people and logs.
    pub(crate) id: String,
    /// Digest of the whole key as it is sent, in hex.
    pub(crate) sha256: KeyDigest,
    /// What the key allows.
    #[serde(deserialize_with = "at_least_one")]
    pub(crate) scopes: Vec<Scope>,
    /// Queues that the key is for. If the field is missing, the key is for all queues. An empty
    /// list is refused: it looks like none, and would mean all.
    #[serde(default, deserialize_with = "at_least_one", skip_serializing_if = "Vec::is_empty")]
    pub(crate) queues: Vec<Glob>,
    /// Kinds of jobs that the key is for; the same applies.
    #[serde(default, deserialize_with = "at_least_one", skip_serializing_if = "Vec::is_empty")]
    pub(crate) kinds: Vec<Glob>,
    /// How much the key may do in a second: each request, job or event of a batch, and delivery of
    /// a replay counts, and so does each job of its schedules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) per_second: Option<NonZeroU32>,
    /// When the key expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<Timestamp>,
}

/// The SHA-256 of a key. The secret has 256 random bits, so no slow hash is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct KeyDigest([u8; 32]);

/// All keys of the server. Clones share them, so that a reload reaches all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys(Arc<RwLock<Arc<[Arc<Key>]>>>);

/// A key, and its rate limit.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) entry: KeyEntry,
    rate_limit: Option<RateLimit>,
    /// In ms since 1970.
    last_used: AtomicI64,
    /// Cancelled when the key is removed.
    removed: CancellationToken,
}

/// A new key: its text is shown once and stored nowhere.
pub(crate) struct NewKey {
    /// The key that clients send.
    pub(crate) secret: String,
    /// The entry for the server.
    pub(crate) entry: KeyEntry,
}

impl Keys {
    /// The keys of the configuration, and the one of `QUEUEKIT_API_KEY`, which may do everything.
    pub(crate) fn new(entries: Vec<KeyEntry>, admin: Option<&str>) -> Self {
        let admin = admin.map(|secret| KeyEntry {
            id: "QUEUEKIT_API_KEY".to_owned(),
            sha256: KeyDigest::of(secret),
            scopes: vec![Scope::Admin],
            queues: Vec::new(),
            kinds: Vec::new(),
            per_second: None,
            expires: None,
        });
        let key = |entry: KeyEntry| {
            let rate_limit = entry.per_second.map(RateLimit::new);
            let (last_used, removed) = (AtomicI64::new(NEVER), CancellationToken::new());
            Arc::new(Key { entry, rate_limit, last_used, removed })
        };
        Self(Arc::new(RwLock::new(entries.into_iter().chain(admin).map(key).collect())))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all().is_empty()
    }

    /// The present keys.
    pub(crate) fn all(&self) -> Arc<[Arc<Key>]> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the keys. An unchanged key keeps its rate limit; streams of a key that was removed
    /// or changed end.
    pub(crate) fn replace(&self, with: &Self) {
        let with = with.all();
        let mut own = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // An unchanged key keeps its rate, and its streams continue.
        let known = |key: &Arc<Key>| own.iter().find(|old| old.entry == key.entry).cloned();
        let next: Arc<[_]> = with.iter().map(|key| known(key).unwrap_or(Arc::clone(key))).collect();
        let is_gone = |old: &&Arc<Key>| !next.iter().any(|key| Arc::ptr_eq(key, old));
        own.iter().filter(is_gone).for_each(|old| old.removed.cancel());
        *own = next;
    }

    /// The key that was sent, unless it has expired. Compares all keys in constant time, so that
    /// the time of an answer reveals nothing about a key.
    pub(crate) fn find(&self, sent: &str, now: Timestamp) -> Option<Arc<Key>> {
        let digest = KeyDigest::of(sent);
        self.find_by(|entry| entry.sha256.0.ct_eq(&digest.0).into(), now)
    }

    /// The key that this is true of, unless it has expired. `is_meant` takes constant time.
    pub(crate) fn find_by(
        &self,
        is_meant: impl Fn(&KeyEntry) -> bool,
        now: Timestamp,
    ) -> Option<Arc<Key>> {
        let mut found = None;
        let all = self.all();
        // Compares with every key, in constant time, so that the time of the answer tells nothing
        // about the keys.
        for key in &*all {
            if is_meant(&key.entry) {
                found = Some(key);
            }
        }
        let is_valid = |key: &&Arc<Key>| key.entry.expires.is_none_or(|end| now < end);
        let found = found.filter(is_valid).map(Arc::clone);
        found.inspect(|key| key.last_used.store(now.as_millisecond(), Ordering::Relaxed))
    }
}

impl Key {
    /// When the key was last sent before it expired; `None` if never.
    pub(crate) fn last_used(&self) -> Option<Timestamp> {
        let millis = self.last_used.load(Ordering::Relaxed);
        Timestamp::from_millisecond(millis).ok().filter(|_| millis != NEVER)
    }

    /// Completes when the key has expired or was removed.
    pub(crate) async fn ended(&self) {
        let expired = async {
            let Some(end) = self.entry.expires else { return std::future::pending().await };
            // A negative span is no duration: the key has expired.
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

    /// Counts a cost; if it is too much now, how long to wait.
    pub(crate) fn spend(&self, cost: usize) -> Result<(), Duration> {
        self.rate_limit.as_ref().map_or(Ok(()), |rate_limit| rate_limit.take(cost, Instant::now()))
    }

    /// Counts a cost that has arisen already.
    pub(crate) fn owe(&self, cost: usize) {
        self.rate_limit.iter().for_each(|rate_limit| rate_limit.owe(cost, Instant::now()));
    }
}

impl KeyEntry {
    pub(crate) fn has(&self, scope: Scope) -> bool {
        self.scopes.iter().any(|own| *own == scope || *own == Scope::Admin)
    }

    pub(crate) fn sees_queue(&self, queue: &str) -> bool {
        self.queues.is_empty() || self.queues.iter().any(|glob| glob.matches(queue))
    }

    pub(crate) fn sees_kind(&self, kind: &str) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|glob| glob.matches(kind))
    }

    /// Whether the key is restricted to some queues or kinds.
    pub(crate) fn is_bound(&self) -> bool {
        !self.queues.is_empty() || !self.kinds.is_empty()
    }
}

fn at_least_one<'de, D, T>(input: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let list = Vec::deserialize(input)?;
    if list.is_empty() {
        return Err(D::Error::custom("an empty list; name at least one, or leave the line out"));
    }
    Ok(list)
}

impl KeyDigest {
    fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret).into())
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl NewKey {
    /// Generates a random key with this name.
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
            kinds: Vec::new(),
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

impl Scope {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Enqueue => "enqueue",
            Self::Work => "work",
            Self::Manage => "manage",
            Self::Admin => "admin",
        }
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
            _ => Err("a scope must be read, enqueue, work, manage or admin".to_owned()),
        }
    }
}

/// By this machine's clock.
pub(crate) fn now() -> Timestamp {
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
        assert!(key.sees_queue("any") && key.sees_kind("any") && !key.is_bound());
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
