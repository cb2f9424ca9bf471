//! The server is killed in the middle of its work, and what it has said holds.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::common::{Ask, Server, Store};
use queuekit_conformance::skip;
use serde_json::json;

const KILLS: u32 = 10;
const CALLERS: u64 = 8;
/// Jobs that are stored between two kills.
const EACH: usize = 20;
/// A server that is not back by then is not coming.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn r0_2_no_acknowledged_job_is_lost_when_the_server_is_killed_over_sqlite() {
    killed("sqlite");
}

#[test]
fn r0_2_no_acknowledged_job_is_lost_when_the_server_is_killed_over_postgres() {
    killed("postgres");
}

#[test]
fn r0_2_no_acknowledged_job_is_lost_when_the_server_is_killed_over_redis() {
    killed("redis");
}

/// Callers store jobs and repeat with the same key what was not answered; a worker runs some of
/// them; meanwhile the server dies again and again.
fn killed(kind: &str) {
    let Some(store) = Store::of(kind) else {
        return skip(&format!("kill over {kind}"), "there is no server for it");
    };
    let mut server = Server::start(store, &[]);
    let url = Mutex::new(server.url.clone());
    let now = || url.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (done, numbers) = (AtomicBool::new(false), AtomicU64::new(0));
    let acknowledged = Mutex::new(Vec::new());
    let (unanswered, acked) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..CALLERS {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let key = format!("job-{}", numbers.fetch_add(1, Ordering::Relaxed));
                    let job = json!({"kind": "t", "payload": key, "idempotency_key": key});
                    loop {
                        let ask = Ask::new("POST", format!("{}/v1/jobs", now())).try_json(&job);
                        match ask.map(|reply| (reply.status, reply)) {
                            Ok((200 | 201, reply)) => {
                                let id = reply.value()["id"].as_str().unwrap().to_owned();
                                acknowledged.lock().unwrap().push((key, id));
                                break;
                            }
                            _ => drop(unanswered.fetch_add(1, Ordering::Relaxed)),
                        }
                    }
                }
            });
        }
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                acked.fetch_add(work_some(&now()), Ordering::Relaxed);
            }
        });
        let in_mid_load = || {
            let so_far = acknowledged.lock().unwrap().len() + EACH;
            let end = Instant::now() + PATIENCE;
            while acknowledged.lock().unwrap().len() < so_far && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        for _ in 0..KILLS {
            in_mid_load();
            server.kill_and_restart();
            *url.lock().unwrap() = server.url.clone();
        }
        in_mid_load();
        done.store(true, Ordering::Relaxed);
    });
    let acknowledged = acknowledged.into_inner().unwrap();
    let (acked, unanswered) = (acked.into_inner(), unanswered.into_inner());
    let ids: HashSet<&str> = acknowledged.iter().map(|(_, id)| id.as_str()).collect();
    let stored = stored(&server);
    let lost = ids.iter().filter(|id| !stored.contains(**id)).count();
    let jobs = acknowledged.len();
    let told = format!("acknowledged={jobs} acked={acked} unanswered={unanswered} lost={lost}");
    println!("kill_server store={kind} kills={KILLS} {told}");
    assert_eq!(ids.len(), jobs, "a key has one job");
    assert_eq!(stored.len(), numbers.into_inner() as usize, "and each key that was sent has one");
    assert_eq!(lost, 0);
    assert!(jobs > 100 && acked > 0, "there was something to lose: {jobs}, {acked}");
    // What was said to be done is done; what ran when the server died runs again.
    let counts = server.get("/v1/queues/default").send().expect(200).value();
    assert!(counts["counts"]["completed"]["value"].as_u64().unwrap() >= acked);
}

/// Reserves a few jobs and acks them: how many acks were answered.
fn work_some(url: &str) -> u64 {
    let reserve = json!({"queues": ["default"], "worker": "w", "limit": 5, "lease_ms": 1000});
    let reserved = Ask::new("POST", format!("{url}/v1/reserve")).try_json(&reserve);
    let Some(reserved) = reserved.ok().filter(|reply| reply.status == 200) else { return 0 };
    let leases = reserved.value()["leases"].as_array().unwrap().clone();
    let acks: Vec<_> = leases.iter().map(|lease| json!({"token": lease["token"]})).collect();
    let acked = Ask::new("POST", format!("{url}/v1/ack")).try_json(&json!({"acks": acks}));
    let Some(acked) = acked.ok().filter(|reply| reply.status == 200) else { return 0 };
    let outcomes = acked.value()["outcomes"].as_array().unwrap().clone();
    outcomes.iter().filter(|outcome| outcome["outcome"] == "acked").count() as u64
}

/// The ids of all jobs.
fn stored(server: &Server) -> HashSet<String> {
    let mut ids = HashSet::new();
    let mut path = "/v1/jobs?limit=1000".to_owned();
    loop {
        let page = server.get(&path).send().expect(200).value();
        let jobs = page["jobs"].as_array().unwrap();
        ids.extend(jobs.iter().map(|job| job["id"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["cursor"].as_str() else { return ids };
        path = format!("/v1/jobs?limit=1000&cursor={cursor}");
    }
}
