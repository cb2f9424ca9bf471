//! Searches of the contents of jobs wait for each other, and no key's keep out those of others.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::common::{by, guarded};

/// It looks into each job, and finds none.
const SEARCH: &str = "/v1/jobs?queue=acme.a&payload=a.b:1&limit=1000";
const OTHERS: [&str; 3] = ["reader", "hostile", "acme"];
/// Searches that each other key has in progress.
const AT_ONCE: usize = 8;

/// Guard: a search waits for one of each other key. It waited for all that had begun before.
#[test]
fn s6_a_search_of_an_operator_is_served_beside_searches_of_three_other_keys() {
    let server = guarded();
    let job = json!({"kind": "t", "queue": "acme.a", "payload": "x".repeat(4000)});
    for _ in 0..3 {
        let jobs = json!({"jobs": vec![&job; 1000]});
        by(&server, "admin", "POST", "/v1/jobs").json(&jobs).expect(201);
    }
    let (begun, done, is_over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let search = |key: &str| by(&server, key, "GET", SEARCH).send().expect(200);
    let attack = |key: &str| {
        while !is_over.load(Ordering::SeqCst) {
            begun.fetch_add(1, Ordering::SeqCst);
            search(key);
            done.fetch_add(1, Ordering::SeqCst);
        }
    };
    let before_own = thread::scope(|scope| {
        for key in OTHERS.iter().flat_map(|key| [key; AT_ONCE]) {
            scope.spawn(|| attack(key));
        }
        // Until each of them has begun, and some have been served.
        while begun.load(Ordering::SeqCst) < OTHERS.len() * (AT_ONCE + 1) {
            thread::sleep(Duration::from_millis(1));
        }
        let before_own = [(); 3].map(|()| {
            let before = done.load(Ordering::SeqCst);
            search("admin");
            done.load(Ordering::SeqCst) - before
        });
        is_over.store(true, Ordering::SeqCst);
        before_own
    });
    // One that is in progress, one of each other key, and those that end with it.
    let most = 2 * OTHERS.len() + 1;
    assert!(before_own.iter().all(|searches| *searches <= most), "{before_own:?} before its own");
}
