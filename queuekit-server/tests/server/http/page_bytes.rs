//! Pages of large items end by their bytes, and say where the next one begins.

use serde_json::{Value, json};

use crate::common::{Server, by, guarded};

const MIB: usize = 1 << 20;

/// Reads a listing to its end; how many items, and on how many pages.
fn read_out(server: &Server, path: &str, items: &str, cursor: &str) -> (usize, usize) {
    let (mut seen, mut pages, mut next) = (0, 0, String::new());
    loop {
        let page = by(server, "admin", "GET", &format!("{path}{next}")).send().expect(200);
        assert!(page.text.len() < 17 * MIB, "{path}: {} bytes", page.text.len());
        let page = page.value();
        (seen, pages) = (seen + page[items].as_array().unwrap().len(), pages + 1);
        let Some(place) = page[cursor].as_str() else { return (seen, pages) };
        next = format!("{}{cursor}={place}", if path.contains('?') { '&' } else { '?' });
    }
}

#[test]
fn s6_a_page_of_large_events_or_schedules_ends_by_bytes_and_has_a_cursor() {
    let server = guarded();
    let large = "x".repeat(MIB - 100);
    for n in 0..20 {
        let event = json!({"type": "t", "data": large});
        by(&server, "admin", "POST", "/v1/events").json(&event).expect(201);
        let schedule = json!({"every_ms": 86_400_000, "job": {"kind": "t", "payload": large}});
        by(&server, "admin", "PUT", &format!("/v1/schedules/s{n:02}")).json(&schedule).expect(201);
    }
    let small = json!({"every_ms": 86_400_000, "job": {"kind": "t"}});
    by(&server, "admin", "PUT", "/v1/schedules/small").json(&small).expect(201);
    assert_eq!(read_out(&server, "/v1/events?limit=1000", "events", "cursor"), (20, 3));
    assert_eq!(read_out(&server, "/v1/schedules", "schedules", "after"), (21, 3));
}

/// Guard: the bytes of workers are counted before a store reads them, and again as they are shown.
#[test]
fn s6_a_page_of_workers_with_many_names_ends_by_bytes_and_has_an_id() {
    const WORKERS: usize = 340;
    let server = guarded();
    let names =
        |of: char| -> Vec<String> { (0..100).map(|number| format!("{of}{number:0127}")).collect() };
    let mut beat = json!({
        "name": "w", "queues": names('q'), "kinds": names('k'), "slots": 1, "running": 0,
        "ttl_ms": 600_000,
    });
    for number in 0..WORKERS {
        beat["id"] = json!(format!("w{number:03}"));
        by(&server, "admin", "POST", "/v1/beat").json(&beat).expect(200);
    }
    // 8 MiB have room for 327 of them.
    assert_eq!(read_out(&server, "/v1/workers?limit=1000", "workers", "after"), (WORKERS, 2));
    assert_eq!(read_out(&server, "/v1/workers", "workers", "after"), (WORKERS, 4));
}

#[test]
fn s11_a_bound_key_goes_on_behind_a_schedule_that_it_may_see() {
    let server = guarded();
    let large = "x".repeat(MIB - 100);
    for n in 0..24 {
        let queue = if n % 2 == 0 { "acme.a" } else { "other" };
        let job = json!({"kind": "t", "queue": queue, "payload": large});
        let schedule = json!({"every_ms": 86_400_000, "job": job});
        by(&server, "admin", "PUT", &format!("/v1/schedules/s{n:02}")).json(&schedule).expect(201);
    }
    let page = |after: &str| {
        let path = format!("/v1/schedules{after}");
        by(&server, "acme", "GET", &path).send().expect(200).value()
    };
    let names = |page: &Value| -> Vec<String> {
        let each = page["schedules"].as_array().unwrap().iter();
        each.map(|schedule| schedule["name"].as_str().unwrap().to_owned()).collect()
    };
    let first = page("");
    let after = first["after"].as_str().unwrap();
    assert_eq!(names(&first).last().unwrap(), after, "a name that it sees");
    let second = page(&format!("?after={after}"));
    assert_eq!(names(&first).len() + names(&second).len(), 12);
    assert_eq!(second["after"], Value::Null);
}
