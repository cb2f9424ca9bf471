//! Who gets in, for how long, and what the cookie says.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use super::Browser;
use crate::common::{Server, Store, digest, guarded, guarded_with, secret};

#[test]
fn s1_no_page_is_shown_without_a_session() {
    let server = guarded();
    for path in ["/ui", "/ui/queues", "/ui/queues/a", "/ui/workers", "/ui/about", "/ui/nothing"] {
        let reply = server.get(path).send().expect(303);
        let to = reply.header("location").unwrap();
        assert!(to.starts_with("/ui/login"), "{path}: {to}");
        // A key opens the API, and no page.
        server.get(path).key(&secret("admin")).send().expect(303);
    }
    assert_eq!(server.get("/").send().expect(303).header("location"), Some("/ui"));
    server.get("/ui/live?page=/ui").send().expect(401);
    let form = server.get("/ui/login").send().expect(200).text;
    assert!(form.contains("name=\"key\"") && !form.contains("marker-secret"));
}

#[test]
fn s2_who_has_a_key_logs_in_and_out_again() {
    let server = guarded();
    let browser = Browser::of(&server, "reader");
    assert!(browser.get("/ui").expect(200).text.contains("reader"));
    let reply = browser.post("/ui/logout", &[]).expect(303);
    assert!(reply.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(reply.header("location"), Some("/ui/login"));
    for wrong in ["", "qk_admin_x", &secret("nobody"), &secret("old"), &digest(&secret("admin"))] {
        let reply = Browser::new(&server).log_in(wrong, "").expect(401);
        assert!(reply.header("set-cookie").is_none() && reply.text.contains("no key of this"));
        assert!(wrong.is_empty() || !reply.text.contains(wrong), "it is not repeated");
    }
}

#[test]
fn s2_a_cookie_is_for_this_server_alone_and_no_script_reads_it() {
    let server = guarded();
    let reply = Browser::new(&server).log_in(&secret("reader"), "").expect(303);
    let cookie = reply.header("set-cookie").unwrap();
    for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/ui;", "; Max-Age=43200"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure"), "this server speaks plain HTTP");
    assert!(!cookie.contains("reader") && !cookie.contains("marker"), "{cookie}");
    let server = guarded_with("[dashboard]\nsecure_cookies = true\nbase_path = '/jobs'");
    let reply = Browser::new(&server).log_in(&secret("reader"), "").expect(303);
    let cookie = reply.header("set-cookie").unwrap();
    assert!(cookie.ends_with("; Secure") && cookie.contains("; Path=/jobs/ui;"), "{cookie}");
}

#[test]
fn s2_a_cookie_that_was_changed_or_made_elsewhere_opens_nothing() {
    let (server, other) = (guarded(), guarded());
    let browser = Browser::of(&server, "admin");
    let (name, value) = browser.cookie().unwrap().split_once('=').unwrap();
    let opens = |cookie: String| {
        let reply = Browser::with(&server, &cookie).get("/ui");
        assert!([200, 303].contains(&reply.status), "{}", reply.text);
        reply.status == 200
    };
    assert!(opens(format!("{name}={value}")));
    for (at, letter) in value.char_indices() {
        // The last letter has bits that are no part of any byte.
        if at % 8 == 0 {
            let other = if letter == 'A' { 'B' } else { 'A' };
            let changed = format!("{}{other}{}", &value[..at], &value[at + 1..]);
            assert!(!opens(format!("{name}={changed}")), "letter {at}");
        }
    }
    assert!(!opens(format!("{name}=")) && !opens(format!("{name}={}", &value[..70])));
    // The same key on a server with another secret.
    let elsewhere = Browser::of(&other, "admin");
    let (their_name, their_value) = elsewhere.cookie().unwrap().split_once('=').unwrap();
    assert_ne!(name, their_name, "servers of one host do not replace each other's cookies");
    assert!(!opens(format!("{name}={their_value}")));
}

/// Guard: a page of another host of this site, or one without TLS, can set cookies of this name.
#[test]
fn s6_a_cookie_that_another_page_has_set_locks_nobody_out_and_chooses_no_session() {
    let server = guarded();
    let (own, other) = (Browser::of(&server, "reader"), Browser::of(&server, "admin"));
    let (own, other) = (own.cookie().unwrap(), other.cookie().unwrap());
    let (name, _) = own.split_once('=').unwrap();
    let status = |cookies: String| Browser::with(&server, &cookies).get("/ui").status;
    assert_eq!(status(format!("{name}=x; {own}; {name}=")), 200);
    assert_eq!(status(format!("{other}; {own}")), 303, "neither is chosen");
}

#[test]
fn s2_servers_with_one_secret_share_their_sessions_and_a_restart_ends_none() {
    let secret = "[dashboard]\nsession_secret = \"0123456789abcdef0123456789abcdef\"";
    let (mut server, other) = (guarded_with(secret), guarded_with(secret));
    let cookie = Browser::of(&server, "reader").cookie().unwrap().to_owned();
    Browser::with(&other, &cookie).get("/ui").expect(200);
    server.kill_and_restart();
    Browser::with(&server, &cookie).get("/ui").expect(200);
    let mut alone = guarded();
    let cookie = Browser::of(&alone, "reader").cookie().unwrap().to_owned();
    alone.kill_and_restart();
    Browser::with(&alone, &cookie).get("/ui").expect(303);
}

fn lines(id: &str, scope: &str) -> String {
    let digest = digest(&secret(id));
    format!("[[keys]]\nid = \"{id}\"\nsha256 = \"{digest}\"\nscopes = [\"{scope}\"]\n")
}

#[test]
fn s2_a_session_ends_with_its_key_and_has_its_present_scopes() {
    let store = Store::of("memory").unwrap();
    let file = store.directory.path().join("queuekit.toml");
    fs::write(&file, lines("stays", "admin") + &lines("goes", "admin")).unwrap();
    let server = Server::start(store, &[]);
    let (stays, goes) = (Browser::of(&server, "stays"), Browser::of(&server, "goes"));
    goes.get("/ui").expect(200);
    fs::write(&file, lines("stays", "read")).unwrap();
    let pid = server.pid().to_string();
    assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    let end = Instant::now() + Duration::from_secs(10);
    while goes.get("/ui").status != 303 {
        assert!(Instant::now() < end, "the session outlives its key");
        std::thread::sleep(Duration::from_millis(10));
    }
    let page = stays.get("/ui/about").expect(200).text;
    assert!(page.contains("view") && !page.contains(">admin<"), "its scopes are those of now");
}

#[test]
fn s6_wrong_keys_are_answered_later_and_later_and_told_in_the_log() {
    let server = guarded();
    let browser = Browser::new(&server);
    // All at once: what comes slowly is answered at once.
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..40 {
            scope.spawn(|| browser.log_in("qk_guess", "").expect(401));
        }
    });
    assert!(begun.elapsed() >= Duration::from_secs(1), "as for wrong keys of the API");
    server.logged(&["refused", "/ui/login"]);
    // A correct key is never delayed.
    browser.log_in(&secret("reader"), "").expect(303);
}

#[test]
fn s6_a_login_leads_to_a_page_of_the_dashboard_and_nowhere_else() {
    let server = guarded();
    let reply = server.get("/ui/queues?q=a&order=dead").send().expect(303);
    let login = reply.header("location").unwrap().to_owned();
    assert_eq!(login, "/ui/login?next=%2Fui%2Fqueues%3Fq%3Da%26order%3Ddead");
    let form = server.get(&login).send().expect(200).text;
    assert!(form.contains("value=\"/ui/queues?q=a&#38;order=dead\""), "{form}");
    for (next, to) in [
        ("/ui/queues?q=a&order=dead", "/ui/queues?q=a&order=dead"),
        ("", "/ui"),
        ("https://evil.example/ui", "/ui"),
        ("//evil.example/ui", "/ui"),
        ("/ui/../v1/jobs", "/ui"),
        ("/v1/jobs", "/ui"),
        ("/ui\\evil.example", "/ui"),
    ] {
        let reply = Browser::new(&server).log_in(&secret("reader"), next).expect(303);
        assert_eq!(reply.header("location"), Some(to), "{next}");
    }
    let hidden = server.get("/ui/login?next=https://evil.example").send().expect(200).text;
    assert!(!hidden.contains("evil.example"));
}

#[test]
fn s6_a_link_from_another_site_finds_the_session() {
    let server = guarded();
    let browser = Browser::of(&server, "reader");
    let follow = |path| {
        // A browser sends no strict cookie with it.
        let link = server.get(path).header("sec-fetch-site", "cross-site");
        link.header("sec-fetch-mode", "navigate").header("sec-fetch-dest", "document").send()
    };
    let page = follow("/ui/queues").expect(200).text;
    assert!(page.contains("http-equiv=\"refresh\"") && !page.contains("queue-table"), "{page}");
    browser.get("/ui/queues").expect(200);
}

/// Sends a login whose form has this length, and nothing after this much of it.
fn begin_login(server: &Server, length: usize, form: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let (host, kind) = (server.address(), "application/x-www-form-urlencoded");
    let request = format!(
        "POST /ui/login HTTP/1.1\r\nhost: {host}\r\nsec-fetch-site: same-origin\r\n\
         content-type: {kind}\r\ncontent-length: {length}\r\n\r\n{form}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Guard: the delay of a wrong key held the place of its login, so that strangers behind the same
/// proxy or address kept everybody out.
#[test]
fn s6_wrong_keys_that_wait_for_their_answer_take_no_place_of_logins() {
    let server = guarded();
    // More than an address has places.
    let guesses: Vec<TcpStream> =
        (0..100).map(|_| begin_login(&server, 12, "key=qk_guess")).collect();
    for _ in 0..20 {
        Browser::new(&server).log_in(&secret("reader"), "").expect(303);
    }
    drop(guesses);
}

/// Guard: strangers who took long over the form of the login held the places of requests, so that
/// workers could not extend their leases.
#[test]
fn s6_slow_logins_of_strangers_take_no_place_of_requests() {
    let server = guarded_with("[limits]\nmax_requests = 4");
    // More than an address may have: our own logins take a place now and then.
    let _slow: Vec<TcpStream> = (0..80).map(|_| begin_login(&server, 100, "k")).collect();
    // Once all of them are in progress, their address has no place for one more.
    let begun = Instant::now();
    while Browser::new(&server).log_in(&secret("reader"), "").status != 503 {
        assert!(begun.elapsed() < Duration::from_secs(5), "an address has any number of logins");
    }
    server.get("/v1/queues").key(&secret("reader")).send().expect(200);
    server.get("/ui/login").send().expect(200);
}

#[test]
fn s6_a_login_that_is_no_plain_form_is_refused() {
    let server = guarded();
    let form = "application/x-www-form-urlencoded";
    for (name, value) in [("content-encoding", "gzip"), ("content-type", "text/plain")] {
        let ask = Browser::new(&server).ask("POST", "/ui/login").header(name, value);
        let ask = if name == "content-type" { ask } else { ask.header("content-type", form) };
        ask.text(format!("key={}", secret("reader"))).expect(415);
    }
}
