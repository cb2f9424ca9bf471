//! The check of each item.

use std::path::{Path, PathBuf};

use ipnet::IpNet;
use queuekit::store::capability::Durability;

use super::item::{Seen, State};
use crate::config::file_permissions;
use crate::handlers::BuiltIn;
use crate::loopback::is_this_host;
use crate::web::keys::{KeyEntry, Scope};

/// Characters of a key with 128 bits in hex.
const KEY_LENGTH: usize = 32;

pub(super) fn keys(seen: &Seen<'_>) -> State {
    let admin = seen.sources.environment.get("QUEUEKIT_API_KEY").map(str::trim);
    match admin {
        Some(key) if key.len() < KEY_LENGTH => to_do("QUEUEKIT_API_KEY is short enough to guess"),
        None if seen.sources.file.keys.is_empty() => to_do("no key is set"),
        _ => State::Ok,
    }
}

pub(super) fn own_keys(seen: &Seen<'_>) -> State {
    let all = |key: &KeyEntry| key.scopes.contains(&Scope::Admin);
    match seen.sources.file.keys.as_slice() {
        [] => to_do("no program has its own key"),
        keys => none_of(keys.iter().filter(|key| all(key)).map(|key| &key.id), "may do everything"),
    }
}

pub(super) fn key_bounds(seen: &Seen<'_>) -> State {
    let keys = seen.sources.file.keys.iter();
    let open = keys.filter(|key| key.per_second.is_none() || key.expires.is_none());
    none_of(open.map(|key| &key.id), "has no `per_second` or no `expires`")
}

pub(super) fn closed_door(seen: &Seen<'_>) -> State {
    if seen.sources.file.insecure_no_auth { to_do("insecure_no_auth is set") } else { State::Ok }
}

pub(super) fn tls(seen: &Seen<'_>) -> State {
    let file = &seen.sources.file;
    let stated = seen.sources.environment.get("QUEUEKIT_LISTEN").map(str::to_owned);
    let listen = stated.or_else(|| file.listen.map(|listen| listen.to_string()));
    if listen.as_deref().is_none_or(is_here) || file.tls.is_some() {
        return State::Ok;
    }
    to_do("it listens on other interfaces, and the settings have no certificate")
}

pub(super) fn metrics_port(seen: &Seen<'_>) -> State {
    match seen.sources.environment.get("QUEUEKIT_METRICS_LISTEN") {
        Some(listen) if is_here(listen) => State::Ok,
        Some(_) => {
            State::NotChecked("it listens on other interfaces: test the port from elsewhere")
        }
        None => State::NotChecked("workers may have the flag: test the port from other machines"),
    }
}

/// Whether only this machine reaches what listens there.
fn is_here(listen: &str) -> bool {
    let host = listen.rsplit_once(':').map_or(listen, |(host, _)| host);
    is_this_host(host.trim_matches(['[', ']']))
}

pub(super) fn durability(seen: &Seen<'_>) -> State {
    match seen.durability {
        None => UNANSWERED,
        Some(Durability::PowerLoss) => State::Ok,
        Some(Durability::ProcessKill) => to_do("jobs survive only the end of the process"),
        Some(Durability::Nothing) => to_do("jobs are lost when the store's process ends"),
    }
}

pub(super) fn store_tls(seen: &Seen<'_>) -> State {
    let url = seen.url.to_ascii_lowercase();
    let is_here = match url::Url::parse(&url) {
        Ok(url) => url.host_str().is_none_or(|host| is_this_host(host.trim_matches(['[', ']']))),
        Err(_) => false,
    };
    if url.starts_with("postgres") {
        let is_checked = is_here || setting(seen, "sslmode") == Some("verify-full");
        let told = "the connection is not encrypted, or the certificate is not verified";
        return if is_checked { State::Ok } else { to_do(told) };
    }
    let is_encrypted = !url.starts_with("redis:") || is_here;
    if is_encrypted { State::Ok } else { to_do("the connection is not encrypted") }
}

pub(super) fn store_role(seen: &Seen<'_>) -> State {
    let scheme = seen.url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    if scheme.starts_with("redis") {
        let (_, place) = seen.url.split_once("://").unwrap_or_default();
        let login = place.rsplit_once('@').map_or("", |(login, _)| login);
        let user = login.split(':').next().unwrap_or_default();
        let is_own = !user.is_empty() && user != "default";
        return if is_own { State::Ok } else { to_do("the URL names no user") };
    }
    match seen.facts.iter().find(|fact| fact.name == "superuser").map(|fact| fact.value.as_str()) {
        Some("off") => State::Ok,
        Some(_) => to_do("the role is a superuser"),
        None if is_server(seen) => State::NotChecked("ask the server which role the URL names"),
        None => State::Ok,
    }
}

pub(super) fn migrate_off(seen: &Seen<'_>) -> State {
    match setting(seen, "migrate") {
        Some("off") => State::Ok,
        _ => to_do("every program that opens the store may update its schema"),
    }
}

#[cfg(unix)]
pub(super) fn file_modes(seen: &Seen<'_>) -> State {
    use std::os::unix::fs::PermissionsExt;
    let path = seen.url.split_once("://").map_or("", |(_, rest)| rest);
    let path = path.split('?').next().unwrap_or_default();
    // The latest writes are in the log next to the file.
    let store = ["", "-wal", "-shm"].map(|end| PathBuf::from(format!("{path}{end}")));
    let store = store.into_iter().filter(|_| !is_server(seen));
    let key = seen.sources.file.tls.as_ref().map(|tls| seen.sources.directory.join(&tls.key));
    let is_open = |path: &PathBuf| {
        let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file);
        metadata.is_some_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
    };
    let dotenv = PathBuf::from(".env");
    let open = store.chain(key).chain([dotenv.clone()]).filter(is_open);
    let exposed =
        file_permissions::exposed(seen.sources).into_iter().filter(|path| *path != dotenv);
    let all: Vec<PathBuf> = open.chain(exposed.map(Path::to_owned)).collect();
    match none_of(all.iter().map(|path| path.display()), "is readable by other users") {
        State::Ok => {
            let writable = file_permissions::writable(seen.sources);
            none_of(writable.iter().map(|path| path.display()), "can be written by other users")
        }
        state => state,
    }
}

#[cfg(not(unix))]
pub(super) fn file_modes(_: &Seen<'_>) -> State {
    State::NotChecked("this system has no file modes")
}

pub(super) fn secrets(seen: &Seen<'_>) -> State {
    if seen.sources.file.holds_secret() { to_do("it holds one") } else { State::Ok }
}

pub(super) fn handlers(seen: &Seen<'_>) -> State {
    match &seen.sources.file.handlers.enabled {
        None => to_do("none are named, so echo and sleep are enabled"),
        Some(enabled) if enabled.contains(&BuiltIn::Sleep) => to_do("sleep is enabled"),
        Some(_) => State::Ok,
    }
}

pub(super) fn exec(seen: &Seen<'_>) -> State {
    match is_on(seen, BuiltIn::Exec) {
        false => State::Ok,
        true if is_server(seen) => State::NotChecked("exec is enabled; check the user of the unit"),
        true => to_do("exec is enabled, and its commands can open the file of the store"),
    }
}

pub(super) fn webhooks(seen: &Seen<'_>) -> State {
    let is_wide = is_on(seen, BuiltIn::Http) && seen.sources.file.handlers.reaches_widely();
    if is_wide { to_do("they can reach more") } else { State::Ok }
}

pub(super) fn mail(seen: &Seen<'_>) -> State {
    let is_wide = is_on(seen, BuiltIn::Email) && !seen.sources.file.handlers.bounds_recipients();
    if is_wide { to_do("they may write to any address") } else { State::Ok }
}

/// Networks of more addresses hold other machines than proxies.
const PROXY_BITS_MAX: u8 = 16;

pub(super) fn proxies(seen: &Seen<'_>) -> State {
    let wide = |net: &&IpNet| net.max_prefix_len() - net.prefix_len() > PROXY_BITS_MAX;
    let proxies = seen.sources.file.proxies.iter();
    none_of(proxies.filter(wide), "holds more than proxies")
}

pub(super) fn access_log(seen: &Seen<'_>) -> State {
    if seen.sources.file.access_log { State::Ok } else { to_do("requests are not logged") }
}

pub(super) const UNANSWERED: State = State::NotChecked("the store does not answer");

fn to_do(why: &str) -> State {
    State::ToDo(why.to_owned())
}

/// Whether the settings enable this handler.
fn is_on(seen: &Seen<'_>, handler: BuiltIn) -> bool {
    let enabled = seen.sources.file.handlers.enabled.as_deref();
    enabled.is_some_and(|enabled| enabled.contains(&handler))
}

/// Whether the store is a server, and not a file or memory.
fn is_server(seen: &Seen<'_>) -> bool {
    let scheme = seen.url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    !["sqlite", "memory"].contains(&scheme.as_str())
}

/// A setting of the store's URL; the last one counts.
fn setting<'a>(seen: &'a Seen<'_>, wanted: &str) -> Option<&'a str> {
    let (_, settings) = seen.url.split_once('?')?;
    let mut settings = settings.split('&').filter_map(|setting| setting.split_once('='));
    settings.rfind(|(name, _)| *name == wanted).map(|(_, value)| value)
}

/// Ok if there is none of these; else names the first, and counts the others.
pub(super) fn none_of(found: impl Iterator<Item = impl std::fmt::Display>, what: &str) -> State {
    let mut found = found;
    let Some(first) = found.next() else { return State::Ok };
    match found.count() {
        0 => State::ToDo(format!("{first} {what}")),
        more => State::ToDo(format!("{first} {what}; the same holds for {more} more")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Environment, Sources};

    fn sources(file: &str, environment: Environment) -> Sources {
        Sources { file: toml::from_str(file).unwrap(), environment, ..Sources::default() }
    }

    type Look = fn(&Seen<'_>) -> State;

    fn state(look: Look, file: &str, url: &str) -> State {
        let sources = sources(file, Environment::of([]));
        look(&Seen::of(&sources, url))
    }

    #[test]
    fn what_the_file_leaves_open_is_to_do_and_what_it_closes_is_ok() {
        const KEY: &str = "id = 'a'\nscopes = ['read']\nsha256 = '\
                           9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'\n";
        let key = |more: &str| format!("[[keys]]\n{KEY}{more}");
        let bounded = key("per_second = 5\nexpires = '2027-01-01T00:00:00Z'");
        let admin = key("").replace("'read'", "'admin'");
        let http = |more: &str| format!("[handlers]\nenabled = ['http']\n[handlers.http]\n{more}");
        let email =
            |more: &str| format!("[handlers]\nenabled = ['email']\n[handlers.email]\n{more}");
        let rows: &[(Look, &str, &str)] = &[
            (keys, "", &key("")),
            (own_keys, &admin, &key("")),
            (key_bounds, &key(""), &bounded),
            (closed_door, "insecure_no_auth = true", ""),
            (tls, "listen = '0.0.0.0:80'", "listen = '[::1]:80'"),
            (tls, "listen = '[::]:80'", "listen = '[::]:80'\ntls = {certificate='a',key='b'}"),
            (secrets, "url = 'postgres://a:b@db/jobs'", "url = 'postgres://db/jobs'"),
            (secrets, "[handlers.email]\npassword = 'a'", "[handlers.email]\nuser = 'a'"),
            (handlers, "", "[handlers]\nenabled = ['echo']"),
            (handlers, "[handlers]\nenabled = ['sleep']", "[handlers]\nenabled = []"),
            (exec, "[handlers]\nenabled = ['exec']", ""),
            (webhooks, &http("allow = ['a:*']"), &http("allow = ['a:80', 'b']")),
            (webhooks, &http("insecure_http = true"), &http("")),
            (mail, &email(""), &email("allow_to = ['@example.org']")),
            (proxies, "proxies = ['10.0.0.0/8']", "proxies = ['10.0.0.7', '10.1.0.0/16']"),
            (proxies, "proxies = ['::/0']", "proxies = ['fd00::/112']"),
            (access_log, "", "access_log = true"),
        ];
        for (look, open, closed) in rows {
            let url = "sqlite://a.db";
            assert!(matches!(state(*look, open, url), State::ToDo(_)), "{open}");
            assert_eq!(state(*look, closed, url), State::Ok, "{closed}");
        }
    }

    #[test]
    fn a_short_key_of_the_environment_is_to_do_and_is_not_repeated() {
        for (key, is_ok) in [("hunter2", false), ("0123456789abcdef0123456789abcdef", true)] {
            let sources = sources("", Environment::of([("QUEUEKIT_API_KEY", key)]));
            let state = keys(&Seen::of(&sources, ""));
            assert_eq!(state == State::Ok, is_ok);
            assert!(!format!("{state:?}").contains(key));
        }
    }

    #[test]
    fn metrics_for_this_machine_only_are_ok_and_others_have_to_be_tried() {
        for (listen, is_ok) in [("127.0.0.1:9090", true), ("[::1]:9090", true), ("[::]:1", false)] {
            let sources = sources("", Environment::of([("QUEUEKIT_METRICS_LISTEN", listen)]));
            assert_eq!(metrics_port(&Seen::of(&sources, "")) == State::Ok, is_ok, "{listen}");
        }
    }

    #[test]
    fn the_url_of_the_store_says_how_it_is_reached_and_who_migrates_it() {
        for (look, open, closed) in [
            (
                store_tls as fn(&Seen<'_>) -> State,
                "postgres://db/a?sslmode=require",
                "postgres:///a",
            ),
            (store_tls, "postgres://db/a", "postgres://db/a?sslmode=verify-full"),
            (store_tls, "redis://cache", "rediss://cache"),
            (store_tls, "redis://10.0.0.7", "redis://[::1]:6379"),
            (migrate_off, "sqlite://a.db", "sqlite://a.db?migrate=off"),
            (migrate_off, "postgres://db?migrate=off&migrate=on", "postgres://db?a=b&migrate=off"),
        ] {
            assert!(matches!(state(look, "", open), State::ToDo(_)), "{open}");
            assert_eq!(state(look, "", closed), State::Ok, "{closed}");
        }
        for own in ["sqlite://a.db", "redis://jobs:secret@a", "rediss://jobs@a/1"] {
            assert_eq!(state(store_role, "", own), State::Ok, "{own}");
        }
        for shared in ["redis://a", "redis://:secret@a", "redis://default:secret@a"] {
            assert!(matches!(state(store_role, "", shared), State::ToDo(_)), "{shared}");
        }
        assert!(matches!(state(store_role, "", "postgres://a"), State::NotChecked(_)));
        assert_eq!(state(durability, "", "redis://a"), UNANSWERED);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_to_do() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let file = tempfile::NamedTempFile::new_in(&directory).unwrap();
        let url = format!("sqlite://{}?migrate=off", file.path().display());
        let sources = Sources {
            file: toml::from_str("url = 'postgres://a:b@db/jobs'").unwrap(),
            path: Some(file.path().to_owned()),
            ..Sources::default()
        };
        let of_settings = |url: &str| file_modes(&Seen::of(&sources, url));
        for (mode, is_ok, group) in
            [(0o644, false, false), (0o640, false, true), (0o600, true, true)]
        {
            std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(state(file_modes, "", &url) == State::Ok, is_ok, "{mode:o}");
            assert_eq!(of_settings("postgres:///jobs") == State::Ok, group, "{mode:o}");
        }
        for end in ["-wal", "-shm"] {
            let beside = format!("{}{end}", file.path().display());
            std::fs::write(&beside, "").unwrap();
            std::fs::set_permissions(&beside, std::fs::Permissions::from_mode(0o644)).unwrap();
            let told = format!("{beside} is readable by other users");
            assert_eq!(state(file_modes, "", &url), to_do(&told));
            std::fs::remove_file(beside).unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn settings_that_others_may_write_are_to_do() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("queuekit.toml");
        std::fs::write(&path, "").unwrap();
        let sources = Sources { path: Some(path.clone()), ..Sources::default() };
        let look = |file: u32, of_directory: u32| {
            for (path, mode) in [(&*path, file), (directory.path(), of_directory)] {
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
            }
            file_modes(&Seen::of(&sources, "postgres:///jobs"))
        };
        assert_eq!(look(0o644, 0o755), State::Ok);
        let told =
            |path: &Path| to_do(&format!("{} can be written by other users", path.display()));
        for mode in [0o664, 0o646] {
            assert_eq!(look(mode, 0o755), told(&path), "{mode:o}");
        }
        for mode in [0o775, 0o757, 0o1777] {
            assert_eq!(look(0o644, mode), told(directory.path()), "{mode:o}");
        }
    }
}
