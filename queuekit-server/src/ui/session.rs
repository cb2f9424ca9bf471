//! Sessions: a cookie that stands for the API key with which its holder has logged in.

use std::fmt::Write;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::{SignedDuration, Timestamp};
use sha2::Sha256;

use crate::web::DashboardOptions;
use crate::web::keys::{Key, KeyEntry, Keys};

/// How long a session lasts.
const HOURS: i64 = 12;
const NONCE: usize = 16;
const MAC: usize = 32;
/// How many cookies of our name a request may have: another host of this site, or a page without
/// TLS, can set more of them, and each is compared with every key.
const COOKIES: usize = 8;
/// The time of the end, a nonce, and the code over both and the key.
const LENGTH: usize = 8 + NONCE + MAC;

/// Issues and checks sessions. They are stored nowhere: a cookie is valid while the server has its
/// secret and the key, and so for a server that has the same ones.
pub(super) struct Sessions {
    secret: Hmac<Sha256>,
    /// The name of the cookie. Browsers keep one jar for all ports of a host: the name differs
    /// where the secret does, so that servers do not replace each other's cookies.
    name: String,
    path: String,
    secure: bool,
}

/// A session that was found.
pub(super) struct Session {
    pub(super) key: Arc<Key>,
    /// What the token of its forms is made of.
    pub(super) id: Vec<u8>,
    pub(super) end: Timestamp,
}

impl Sessions {
    /// # Errors
    /// If the system has no randomness.
    pub(super) fn new(options: &DashboardOptions) -> Result<Self, getrandom::Error> {
        let secret = match &options.session_secret {
            Some(secret) => hmac(secret.bytes()),
            None => hmac(&random::<32>()?),
        };
        let mut name = "queuekit_session_".to_owned();
        for byte in &code(&secret, "name", [])[..4] {
            let _ = write!(name, "{byte:02x}");
        }
        let path = format!("{}/ui", options.base_path.as_str());
        Ok(Self { secret, name, path, secure: options.secure_cookies })
    }

    /// The `Set-Cookie` that begins a session of this key.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub(super) fn begin(&self, key: &Key, now: Timestamp) -> Result<String, getrandom::Error> {
        let end = now.saturating_add(SignedDuration::from_hours(HOURS)).unwrap_or(now);
        let end = key.entry.expires.map_or(end, |expires| expires.min(end));
        let mut bytes = end.as_millisecond().to_be_bytes().to_vec();
        bytes.extend(random::<NONCE>()?);
        bytes.extend(self.code_of(&key.entry, &bytes));
        let seconds = end.duration_since(now).as_secs().max(0);
        Ok(self.cookie(&URL_SAFE_NO_PAD.encode(bytes), seconds))
    }

    /// The `Set-Cookie` that ends it.
    pub(super) fn end(&self) -> String {
        self.cookie("", 0)
    }

    /// The session whose cookie was sent, if its key is still there and its time is not over. Other
    /// cookies of its name do not matter, unless they are of another session: the page that has set
    /// that one would choose as whom the browser acts.
    pub(super) fn find(&self, headers: &HeaderMap, keys: &Keys, now: Timestamp) -> Option<Session> {
        let sent = self.sent(headers)?;
        let mut sessions = sent.into_iter().filter_map(|value| self.open(value, keys, now));
        let session = sessions.next()?;
        sessions.all(|other| other.id == session.id).then_some(session)
    }

    /// The session that this cookie stands for.
    fn open(&self, value: &str, keys: &Keys, now: Timestamp) -> Option<Session> {
        let bytes = URL_SAFE_NO_PAD.decode(value).ok()?;
        let (head, code) =
            bytes.split_at_checked(LENGTH - MAC).filter(|_| bytes.len() == LENGTH)?;
        let end = i64::from_be_bytes(head.get(..8)?.try_into().ok()?);
        let end = Timestamp::from_millisecond(end).ok()?;
        // In constant time, whatever was sent.
        let is_meant = |entry: &KeyEntry| self.mac_of(entry, head).verify_slice(code).is_ok();
        let key = keys.find_by(is_meant, now).filter(|_| now < end)?;
        Some(Session { key, id: bytes, end })
    }

    /// The token of the forms of a session; of none on a server without keys.
    pub(super) fn token(&self, session: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(code(&self.secret, "form", [session]))
    }

    /// Compares in constant time.
    pub(super) fn is_token(&self, session: &[u8], sent: &str) -> bool {
        let sent = URL_SAFE_NO_PAD.decode(sent).unwrap_or_default();
        mac(&self.secret, "form", [session]).verify_slice(&sent).is_ok()
    }

    fn code_of(&self, entry: &KeyEntry, head: &[u8]) -> Vec<u8> {
        self.mac_of(entry, head).finalize().into_bytes().to_vec()
    }

    fn mac_of(&self, entry: &KeyEntry, head: &[u8]) -> Hmac<Sha256> {
        mac(&self.secret, "session", [head, entry.sha256.bytes(), entry.id.as_bytes()])
    }

    /// The values of cookies with our name; none if there are too many.
    fn sent<'a>(&self, headers: &'a HeaderMap) -> Option<Vec<&'a str>> {
        let all = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        let pairs = all.flat_map(|all| all.split(';')).filter_map(|one| one.trim().split_once('='));
        let ours = pairs.filter(|(name, _)| *name == self.name).map(|(_, value)| value);
        let ours: Vec<_> = ours.take(COOKIES + 1).collect();
        (ours.len() <= COOKIES).then_some(ours)
    }

    fn cookie(&self, value: &str, seconds: i64) -> String {
        let Self { name, path, .. } = self;
        let secure = if self.secure { "; Secure" } else { "" };
        format!("{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
    }
}

fn random<const N: usize>() -> Result<[u8; N], getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

fn hmac(secret: &[u8]) -> Hmac<Sha256> {
    // A secret of any length is accepted.
    Hmac::new_from_slice(secret).unwrap_or_else(|_| Hmac::new(&Default::default()))
}

fn code<const N: usize>(secret: &Hmac<Sha256>, what: &str, parts: [&[u8]; N]) -> Vec<u8> {
    mac(secret, what, parts).finalize().into_bytes().to_vec()
}

/// A code over these parts. All but the last have a fixed length, so that no two lists of parts
/// have the same bytes.
fn mac<const N: usize>(secret: &Hmac<Sha256>, what: &str, parts: [&[u8]; N]) -> Hmac<Sha256> {
    let mut mac = secret.clone();
    mac.update(what.as_bytes());
    mac.update(&[0]);
    parts.iter().for_each(|part| mac.update(part));
    mac
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::Scope;
    use crate::web::keys::NewKey;

    fn key(id: &str) -> KeyEntry {
        NewKey::draw(id, vec![Scope::Read]).unwrap().entry
    }

    /// The name and value of a `Set-Cookie`.
    fn pair(cookie: &str) -> &str {
        cookie.split(';').next().unwrap()
    }

    fn sent(cookies: &str) -> HeaderMap {
        HeaderMap::from_iter([(COOKIE, cookies.parse().unwrap())])
    }

    fn hours_after(now: Timestamp, hours: i64) -> Timestamp {
        now.saturating_add(SignedDuration::from_hours(hours)).unwrap()
    }

    #[test]
    fn s6_a_session_ends_by_its_time_or_that_of_its_key_and_with_its_key() {
        let sessions = Sessions::new(&DashboardOptions::default()).unwrap();
        let now: Timestamp = "2026-11-01T00:00:00Z".parse().unwrap();
        let mut short = key("short");
        short.expires = Some(hours_after(now, 1));
        let keys = Keys::new(vec![key("long"), short], None);
        let drawn_anew = Keys::new(vec![key("long"), key("short")], None);
        for (held, end) in [("long", HOURS), ("short", 1)] {
            let key = keys.all().iter().find(|key| key.entry.id == held).cloned().unwrap();
            let headers = sent(pair(&sessions.begin(&key, now).unwrap()));
            let found = |at| sessions.find(&headers, &keys, at).map(|found| found.key);
            let last = hours_after(now, end) - SignedDuration::from_millis(1);
            assert_eq!(found(last).unwrap().entry.id, held);
            assert!(found(hours_after(now, end)).is_none(), "{held}");
            assert!(sessions.find(&headers, &drawn_anew, now).is_none(), "{held}");
        }
    }

    #[test]
    fn s6_a_cookie_that_was_changed_or_is_of_another_server_is_no_session() {
        let [own, other] = [(); 2].map(|()| Sessions::new(&DashboardOptions::default()).unwrap());
        let now: Timestamp = "2026-11-01T00:00:00Z".parse().unwrap();
        let keys = Keys::new(vec![key("a")], None);
        let cookie = own.begin(&keys.all()[0], now).unwrap();
        assert!(own.find(&sent(pair(&cookie)), &keys, now).is_some());
        let (name, value) = pair(&cookie).split_once('=').unwrap();
        let bytes = URL_SAFE_NO_PAD.decode(value).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let changed = format!("{name}={}", URL_SAFE_NO_PAD.encode(changed));
            assert!(own.find(&sent(&changed), &keys, now).is_none(), "byte {at}");
        }
        let foreign = other.begin(&keys.all()[0], now).unwrap();
        let (_, value) = pair(&foreign).split_once('=').unwrap();
        assert!(own.find(&sent(&format!("{name}={value}")), &keys, now).is_none());
    }

    /// Guard: each cookie of our name is tried, and two sessions are none.
    #[test]
    fn s6_cookies_that_others_set_lock_nobody_out_and_choose_no_session() {
        let sessions = Sessions::new(&DashboardOptions::default()).unwrap();
        let now: Timestamp = "2026-11-01T00:00:00Z".parse().unwrap();
        let keys = Keys::new(vec![key("a"), key("b")], None);
        let begin = |at: usize| {
            let cookie = sessions.begin(&keys.all()[at], now).unwrap();
            pair(&cookie).to_owned()
        };
        let (own, theirs) = (begin(0), begin(1));
        let junk = format!("{}={}", sessions.name, URL_SAFE_NO_PAD.encode([0; LENGTH]));
        let found = |cookies: &[&str]| {
            let found = sessions.find(&sent(&cookies.join("; ")), &keys, now);
            found.map(|found| found.key.entry.id.clone())
        };
        assert_eq!(found(&[&junk, &own, &junk]).as_deref(), Some("a"));
        assert_eq!(found(&[&own, &own]).as_deref(), Some("a"), "it is the same session");
        assert_eq!(found(&[&own, &theirs]), None);
        assert_eq!(found(&[&theirs, &junk, &own]), None);
        let most = |others: usize| [vec![&*junk; others], vec![&*own]].concat();
        assert_eq!(found(&most(COOKIES - 1)).as_deref(), Some("a"));
        assert_eq!(found(&most(COOKIES)), None, "no more are compared");
    }
}
