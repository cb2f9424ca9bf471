//! The fence by HTTP: every call that takes a token, by every token that holds nothing.

use serde_json::{Value, json};

use crate::common::{Server, on_every_store};

on_every_store! {
    r3_3_a_stale_token_changes_nothing,
    r3_3_a_token_of_another_queue_is_refused,
}

/// A lease that outlives the test on a slow machine, and is shorter than what `extend` asks for.
const LEASE_MS: u64 = 1_800_000;

/// A call that takes a token: its name, its path, and its body for one token.
type Call = (&'static str, &'static str, fn(&str) -> Value);

const CALLS: [Call; 9] = [
    ("ack", "/v1/ack", |token| json!({"acks": [{"token": token, "result": "stale"}]})),
    ("retry", "/v1/nack", |token| nack(token, "retry")),
    ("release", "/v1/nack", |token| nack(token, "release")),
    ("fatal", "/v1/nack", |token| nack(token, "fatal")),
    ("cancelled", "/v1/nack", |token| nack(token, "cancelled")),
    ("extend", "/v1/extend", |token| json!({"tokens": [token], "lease_ms": 3_600_000})),
    ("report", "/v1/report", |token| {
        json!({"reports": [{
            "token": token, "progress": {"fraction": 1.0, "message": "stale"}, "lines": ["stale"],
        }]})
    }),
    (
        "checkpoint",
        "/v1/checkpoint",
        |token| json!({"token": token, "name": "s", "result": "stale"}),
    ),
    ("checkpoints", "/v1/checkpoints", |token| json!({ "token": token })),
];

fn nack(token: &str, kind: &str) -> Value {
    let error = "stale";
    let nack = json!({"token": token, "kind": kind, "error": error, "delay_ms": 3_600_000});
    json!({ "nacks": [nack] })
}

/// A token that holds nothing.
struct Stale {
    what: String,
    token: String,
    /// The call that ended its lease, and what it answered.
    by: Option<(&'static str, Value)>,
    /// Its job is no longer there.
    gone: bool,
}

/// Guard: the whole token reaches the store, whose fence decides.
fn r3_3_a_stale_token_changes_nothing(server: &mut Server) {
    let mut stale = Vec::new();
    reclaimed(server, &mut stale);
    ended(server, &mut stale);
    removed(server, &mut stale);
    let live = lease(server, LEASE_MS, None);
    altered("of a live lease", &live, &mut stale);
    let before = stored(server);
    for stale in &stale {
        for (name, path, body) in CALLS {
            let answer = call(server, path, &body(&stale.token));
            stale.assert_refused(name, &answer);
        }
        // Once for all calls: the server's upkeep, which begins some seconds later, writes too.
        assert_eq!(stored(server), before, "by {}", stale.what);
    }
    let (_, path, body) = CALLS[0];
    assert_eq!(call(server, path, &body(&live))["outcome"], "acked");
}

impl Stale {
    fn assert_refused(&self, name: &str, answer: &Value) {
        let outcome = &answer["outcome"];
        let allowed = match &self.by {
            // It is a read, and a job that is gone has no lease.
            _ if name == "checkpoints" => *outcome == "lease_lost",
            _ if self.gone => *outcome == "not_found",
            Some(("ack", _)) if name == "ack" => *outcome == "already_done",
            Some((by, first)) if *by == name => *outcome == "lease_lost" || answer == first,
            _ => *outcome == "lease_lost",
        };
        assert!(allowed, "{name} by {}: {answer}", self.what);
    }
}

/// A token whose queue is not that of its job's id is none that was ever handed out.
/// Guard: the parser of tokens.
fn r3_3_a_token_of_another_queue_is_refused(server: &mut Server) {
    let live = lease(server, LEASE_MS, None);
    let moved = live.replacen("default~", "other~", 1);
    let before = stored(server);
    for (_, path, body) in CALLS {
        let problem = server.ask("POST", path).json(&body(&moved)).problem(422, "invalid");
        let of_one = path.starts_with("/v1/checkpoint");
        let item = if of_one { Value::Null } else { json!(0) };
        assert_eq!((&problem["item"], &problem["field"]), (&item, &json!("token")));
        assert_eq!(stored(server), before, "{path}");
    }
}

/// A lease that ran out, of a job that another now has.
fn reclaimed(server: &Server, stale: &mut Vec<Stale>) {
    // The shortest lease there is. A waiting reserve is woken when it expires.
    let token = lease(server, 1_000, None);
    let again = reserve(server, LEASE_MS, 20_000);
    let (old, new) = (id_of(&token), id_of(&again));
    assert_eq!(old, new, "the same job");
    add("run out, and leased by another", &token, stale);
}

/// Leases that their holders or an operator ended.
fn ended(server: &Server, stale: &mut Vec<Stale>) {
    for (name, path, body) in &CALLS[..5] {
        let token = lease(server, LEASE_MS, None);
        let first = call(server, path, &body(&token));
        assert!(first["outcome"] != "lease_lost", "{name}: {first}");
        let by = Some((*name, first));
        stale.push(Stale { what: format!("after {name}"), token: token.clone(), by, gone: false });
        if *name == "ack" {
            altered("of an acked lease", &token, stale);
        }
    }
    let token = lease(server, LEASE_MS, None);
    let id = id_of(&token);
    let force = json!({"reason": "operator", "force": true});
    server.ask("POST", &format!("/v1/jobs/{id}/dead-letter")).json(&force).expect(200);
    add("dead-lettered by force", &token, stale);
}

/// Leases whose job was deleted, and maybe created again under its id.
fn removed(server: &Server, stale: &mut Vec<Stale>) {
    for again in [false, true] {
        let token = lease(server, LEASE_MS, None);
        let id = id_of(&token);
        server.ask("DELETE", &format!("/v1/jobs/{id}?force=true")).send().expect(204);
        let what = if again { "deleted, created again and leased" } else { "deleted" };
        stale.push(Stale { what: what.to_owned(), token, by: None, gone: !again });
        if again {
            lease(server, LEASE_MS, Some(&id));
        }
    }
}

/// Tokens that differ in one part.
fn altered(of: &str, token: &str, stale: &mut Vec<Stale>) {
    let (rest, nonce) = token.rsplit_once('~').unwrap();
    let (rest, seq) = rest.rsplit_once('~').unwrap();
    let seq: u64 = seq.parse().unwrap();
    add(&format!("another lease_seq {of}"), &format!("{rest}~{}~{nonce}", seq + 1), stale);
    let last = if nonce.ends_with('0') { '1' } else { '0' };
    let nonce = format!("{}{last}", &nonce[..31]);
    add(&format!("another nonce {of}"), &format!("{rest}~{seq}~{nonce}"), stale);
}

fn add(what: &str, token: &str, stale: &mut Vec<Stale>) {
    let (what, token) = (what.to_owned(), token.to_owned());
    stale.push(Stale { what, token, by: None, gone: false });
}

fn id_of(token: &str) -> String {
    token.rsplit('~').nth(2).unwrap().to_owned()
}

/// The token of a new job, under this id.
fn lease(server: &Server, lease_ms: u64, id: Option<&str>) -> String {
    let mut job = json!({"kind": "t"});
    if let Some(id) = id {
        job["id"] = json!(id);
    }
    server.ask("POST", "/v1/jobs").json(&job).expect(201);
    reserve(server, lease_ms, 0)
}

fn reserve(server: &Server, lease_ms: u64, wait_ms: u64) -> String {
    let body = json!({
        "queues": ["default"], "worker": "w", "lease_ms": lease_ms, "wait_ms": wait_ms,
    });
    let reply = server.ask("POST", "/v1/reserve").json(&body).expect(200).value();
    let leases = reply["leases"].as_array().unwrap();
    assert_eq!(leases.len(), 1, "{reply}");
    leases[0]["token"].as_str().unwrap().to_owned()
}

fn call(server: &Server, path: &str, body: &Value) -> Value {
    let answer = server.ask("POST", path).json(body).expect(200).value();
    // A call about one lease has no list.
    if answer["outcomes"].is_null() { answer } else { answer["outcomes"][0].clone() }
}

/// Everything that is stored, as it is stored; of a store in memory, what reads show.
fn stored(server: &Server) -> Vec<String> {
    let shown = || shown(server).iter().map(Value::to_string).collect();
    let mut stored = server.store.raw_dump().unwrap_or_else(shown);
    // Summed, because Postgres adds to them later.
    stored.push(server.get("/v1/errors").send().expect(200).text);
    stored
}

/// Every job as it is shown, without the fields that time alone changes.
fn shown(server: &Server) -> Vec<Value> {
    let page = server.get("/v1/jobs?limit=1000").send().expect(200).value();
    let ids = page["jobs"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap());
    let job = |id: &str| {
        let mut job = server.get(&format!("/v1/jobs/{id}")).send().expect(200).value();
        let left = job["lease_expires_in_ms"].as_u64();
        assert!(left.is_none_or(|left| left <= LEASE_MS), "a lease was extended: {job}");
        job["lease_expires_in_ms"] = Value::Null;
        job
    };
    let mut jobs: Vec<Value> = ids.map(job).collect();
    jobs.sort_by_key(|job| job["id"].to_string());
    jobs
}
