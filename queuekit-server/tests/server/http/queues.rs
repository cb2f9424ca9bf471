//! Queues, events, schedules, streams and figures by HTTP.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::common::{Server, on_every_store};
use serde_json::{Value, json};

on_every_store! {
    a_queue_is_listed_configured_and_removed,
    r16_10_a_pause_takes_a_reason_and_an_end,
    queues_and_workers_are_listed_page_by_page,
    a_schedule_is_put_shown_run_and_deleted,
    a_schedule_that_is_wrong_is_refused_with_the_reason,
    events_reach_their_consumers_and_are_replayed,
    cloud_events_go_in_and_come_out,
    what_is_wrong_with_a_query_of_events_is_named,
    s9_what_is_wrong_with_a_cloud_event_is_told_without_what_it_says,
    metrics_tell_of_queues_and_requests,
    the_scale_of_queues_is_what_waits_and_runs_over_the_slots_of_workers,
    a_stream_tells_what_has_changed,
    health_is_a_word,
}

fn a_queue_is_listed_configured_and_removed(server: &mut Server) {
    server.get("/v1/queues/a").send().problem(404, "not_found");
    let patch = json!({
        "paused": true, "max_pending": 10, "per_key": 2, "key_on_wait": "skip",
        "key_on_dead": "hold", "order": "fair", "dedup_window_ms": 1000,
        "retention": {"done": {"age_ms": 600_000, "jobs": 5, "bytes": null},
                      "dead": {"age_ms": null, "jobs": null, "bytes": null}},
    });
    let settings = server.ask("PATCH", "/v1/queues/a").json(&patch).expect(200).value();
    for (name, value) in patch.as_object().unwrap() {
        assert_eq!(settings[name], *value, "{name}");
    }
    let lifted = server.ask("PATCH", "/v1/queues/a").json(&json!({"max_pending": null}));
    assert_eq!(lifted.expect(200).value()["max_pending"], Value::Null);
    let resumed = server.ask("POST", "/v1/queues/a/resume").send().expect(200).value();
    assert_eq!(resumed["paused"], false);
    server.ask("POST", "/v1/jobs").json(&json!({"kind": "t", "queue": "a"})).expect(201);
    let queue = server.get("/v1/queues/a").send().expect(200).value();
    assert_eq!(queue["counts"]["ready"], json!({"value": 1, "exact": true}));
    assert_eq!(queue["settings"]["order"], "fair");
    let all = server.get("/v1/queues").send().expect(200).value();
    assert_eq!(all["queues"].as_array().unwrap().len(), 1);
    server.ask("DELETE", "/v1/queues/a").send().problem(409, "conflict");
    server.ask("DELETE", "/v1/queues/a?force=true").send().expect(204);
    server.ask("DELETE", "/v1/queues/a").send().problem(404, "not_found");
    for wrong in [json!({"per_key": 0}), json!({"order": "odd"}), json!({"max": 1})] {
        server.ask("PATCH", "/v1/queues/a").json(&wrong).problem(422, "invalid");
    }
    server.ask("POST", "/v1/queues/a%20b/pause").send().problem(422, "invalid");
}

fn r16_10_a_pause_takes_a_reason_and_an_end(server: &mut Server) {
    let pause = || server.ask("POST", "/v1/queues/a/pause");
    let until = |settings: &Value| settings.get("paused_until").cloned();
    let timed = pause().json(&json!({"reason": "r", "for_ms": 3_600_000})).expect(200).value();
    assert_eq!((&timed["paused"], &timed["pause_reason"]), (&json!(true), &json!("r")));
    let end = until(&timed).expect("an end");
    let queue = server.get("/v1/queues/a").send().expect(200).value();
    assert_eq!((&queue["paused"], &queue["settings"]["paused_until"]), (&json!(true), &end));
    let job = json!({"kind": "t", "queue": "a"});
    let job = server.ask("POST", "/v1/jobs").json(&job).expect(201).value();
    let why = format!("/v1/jobs/{}/why", job["id"].as_str().unwrap());
    let why = server.get(&why).send().expect(200).value();
    let sentence = why["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("queue a is paused for another ") && sentence.ends_with(": r"));
    let work = json!({"queues": ["a"], "worker": "w"});
    let reserved = server.ask("POST", "/v1/reserve").json(&work).expect(200).value();
    assert_eq!(reserved["leases"], json!([]));
    let in_ms = reserved["next_due_in_ms"].as_u64().expect("the end of the pause");
    assert!((3_500_000..=3_600_000).contains(&in_ms), "{reserved}");
    for without_body in [pause().send(), pause().json(&json!({})), pause().json(&Value::Null)] {
        let settings = without_body.expect(200).value();
        assert_eq!((until(&settings), settings.get("pause_reason")), (None, None));
    }
    for (wrong, field) in [
        (json!({"for_ms": 0}), "for_ms"),
        (json!({"for_ms": 31_622_400_001_u64}), "for_ms"),
        (json!({"for_ms": -1}), "for_ms"),
        (json!({"reason": "x".repeat(501)}), "reason"),
        (json!({"reason": "a\nb"}), "reason"),
        (json!({"until": 1}), "until"),
    ] {
        let problem = pause().json(&wrong).problem(422, "invalid");
        assert_eq!(problem["field"], field, "{problem}");
    }
    pause().text("{").problem(400, "bad_request");
    let patch = json!({"paused": true, "pause_for_ms": 1});
    server.ask("PATCH", "/v1/queues/a").json(&patch).expect(200);
    let leased = || server.ask("POST", "/v1/reserve").json(&work).expect(200).value();
    while leased()["leases"] == json!([]) {}
    let alone = json!({"pause_for_ms": 1});
    server.ask("PATCH", "/v1/queues/a").json(&alone).problem(422, "invalid");
}

fn queues_and_workers_are_listed_page_by_page(server: &mut Server) {
    let names: Vec<String> = (0..7).map(|number| format!("q{number}")).collect();
    for name in names.iter().rev() {
        server.ask("POST", "/v1/jobs").json(&json!({"kind": "t", "queue": name})).expect(201);
        let beat = json!({
            "id": name, "name": "w", "queues": [name], "kinds": [], "slots": 1, "running": 0,
            "ttl_ms": 600_000,
        });
        server.ask("POST", "/v1/beat").json(&beat).expect(200);
    }
    for (path, items, key) in [("/v1/queues", "queues", "name"), ("/v1/workers", "workers", "id")] {
        for limit in [1, 3, 6, 7, 1000] {
            let (mut after, mut listed) = (String::new(), Vec::new());
            loop {
                let page = server.get(&format!("{path}?limit={limit}{after}")).send().expect(200);
                let page = page.value();
                let shown = page[items].as_array().unwrap();
                assert!(shown.len() <= limit, "{page}");
                listed.extend(shown.iter().map(|item| item[key].as_str().unwrap().to_owned()));
                let Some(last) = page["after"].as_str() else { break };
                after = format!("&after={last}");
            }
            assert_eq!(listed, names, "{path}, {limit} a page");
        }
        assert_eq!(server.get(path).send().expect(200).value().get("after"), None);
        for wrong in ["limit=0", "limit=1001", "limit=x", "after=a%20b", "after="] {
            let reply = server.get(&format!("{path}?{wrong}")).send();
            assert!([400, 422].contains(&reply.status), "{path}?{wrong}: {}", reply.status);
        }
    }
}

fn a_schedule_is_put_shown_run_and_deleted(server: &mut Server) {
    let nightly = json!({
        "cron": "30 2 * * *", "zone": "Europe/Berlin", "catch_up": "once", "overlap": "skip",
        "job": {"kind": "report", "payload": {"big": true}, "queue": "reports"},
    });
    let put = || server.ask("PUT", "/v1/schedules/nightly").json(&nightly);
    let made = put().expect(201).value();
    assert_eq!(made["zone"], "Europe/Berlin");
    assert_eq!(made["job"]["payload"], json!({"big": true}));
    put().expect(200);
    let next = server.get("/v1/schedules/nightly/next?count=3").send().expect(200).value();
    assert_eq!(next["next"].as_array().unwrap().len(), 3);
    assert_eq!(next["next"][0], made["next_at"]);
    let run = server.ask("POST", "/v1/schedules/nightly/run").send().expect(201).value();
    let job = server.get(&format!("/v1/jobs/{}", run["id"].as_str().unwrap())).send().expect(200);
    assert_eq!(job.value()["queue"], "reports");
    let mut paused = nightly.clone();
    paused["paused"] = json!(true);
    let paused = server.ask("PUT", "/v1/schedules/nightly").json(&paused).expect(200).value();
    assert_eq!((&paused["paused"], paused.get("next_at")), (&json!(true), None));
    let all = server.get("/v1/schedules").send().expect(200).value();
    assert_eq!(all["schedules"][0]["name"], "nightly");
    server.ask("DELETE", "/v1/schedules/nightly").send().expect(204);
    server.ask("DELETE", "/v1/schedules/nightly").send().problem(404, "not_found");
    server.ask("POST", "/v1/schedules/nightly/run").send().problem(404, "not_found");
}

fn a_schedule_that_is_wrong_is_refused_with_the_reason(server: &mut Server) {
    let job = json!({"kind": "t"});
    for (given, reason) in [
        (json!({"cron": "0 0 30 2 *", "job": job}), "no time ever"),
        (json!({"cron": "* * * * *", "zone": "Mars/Base", "job": job}), "Mars/Base"),
        (json!({"every_ms": 1, "job": job}), "1 s"),
        (json!({"job": job}), "cron or every_ms"),
        (json!({"every_ms": 1000, "job": {"kind": "t", "delay_ms": 5}}), "delay"),
    ] {
        let problem = server.ask("PUT", "/v1/schedules/s").json(&given).problem(422, "invalid");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(reason), "{given}: {detail}");
    }
}

fn events_reach_their_consumers_and_are_replayed(server: &mut Server) {
    let given = json!({"events": "order.*", "ordered": true, "retry": "fixed 5000"});
    let put = |body: &Value| server.ask("PUT", "/v1/subscriptions/shipping").json(body);
    let made = put(&given).expect(201).value();
    assert_eq!((&made["queue"], &made["ordered"]), (&json!("event.shipping"), &json!(true)));
    put(&given).expect(200);
    let event = json!({"type": "order.paid", "data": {"order": 7}, "idempotency_key": "o7"});
    let emitted = server.ask("POST", "/v1/events").json(&event).expect(201).value();
    assert_eq!(emitted["outcome"], "emitted");
    let again = server.ask("POST", "/v1/events").json(&event).expect(200).value();
    assert_eq!((&again["outcome"], &again["id"]), (&json!("duplicate"), &emitted["id"]));
    let batch = json!({"events": [{"type": "order.sent"}, {"type": "user.left"}]});
    let outcomes = server.ask("POST", "/v1/events").json(&batch).expect(201).value();
    assert_eq!(outcomes["outcomes"].as_array().unwrap().len(), 2);
    let deliveries = server.get("/v1/queues/event.shipping/jobs").send().expect(200).value();
    let deliveries = deliveries["jobs"].as_array().unwrap();
    assert_eq!(deliveries.len(), 2);
    assert_eq!(deliveries[0]["payload"], json!({"order": 7}));
    let log = server.get("/v1/events?type=order.*").send().expect(200).value();
    assert_eq!(log["events"].as_array().unwrap().len(), 2);
    assert_eq!(log["events"][0]["data"], json!({"order": 7}));
    let replay = json!({"name": "again", "from": "2020-01-01T00:00:00Z"});
    let path = "/v1/subscriptions/shipping/replay";
    let report = server.ask("POST", path).json(&replay).expect(200).value();
    assert_eq!((&report["matched"], &report["delivered"]), (&json!(2), &json!(2)));
    let stats = server.get("/v1/subscriptions/shipping").send().expect(200).value();
    assert_eq!(stats["stats"]["depth"], 4);
    server.ask("DELETE", "/v1/subscriptions/shipping").send().expect(204);
    server.ask("POST", path).json(&replay).problem(404, "not_found");
    for wrong in [json!({"events": ""}), json!({"events": "a", "retry": "often"})] {
        put(&wrong).problem(422, "invalid");
    }
}

fn cloud_events_go_in_and_come_out(server: &mut Server) {
    let event = r#"{"specversion":"1.0","id":"A-1","source":"/shop","type":"order.paid",
        "data":{"amount":12345678901234567890}}"#;
    let ask =
        || server.ask("POST", "/v1/events").header("content-type", "application/cloudevents+json");
    let span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    ask().header("traceparent", span).text(event).expect(201);
    let log = server.get("/v1/events").send().expect(200).value();
    assert_eq!(log["events"][0]["metadata"]["traceparent"], span);
    ask().text(event).expect(200);
    ask().text("{}").problem(422, "invalid");
    // The key of the header goes before that of its id and source.
    let other = event.replace("\"id\":\"", "\"id\":\"other-");
    ask().header("idempotency-key", "once").text(event).expect(201);
    ask().header("idempotency-key", "once").text(other).expect(200);
    let wanted = "application/cloudevents-batch+json";
    let out = server.get("/v1/events").header("accept", wanted).send().expect(200);
    assert_eq!(out.header("content-type"), Some(wanted));
    assert!(out.text.contains(r#""data":{"amount":12345678901234567890}"#), "{}", out.text);
    server
        .ask("POST", "/v1/events")
        .header("content-type", wanted)
        .text(out.text.clone())
        .expect(200);
    let many = server.ask("POST", "/v1/events").header("content-type", wanted);
    let refused = many.header("idempotency-key", "k").text(out.text).problem(422, "invalid");
    assert_eq!(refused["field"], "Idempotency-Key");
}

fn what_is_wrong_with_a_query_of_events_is_named(server: &mut Server) {
    for (query, field) in [("after=x", "after"), ("type=a%20b", "type"), ("limit=0", "limit")] {
        let reply = server.get(&format!("/v1/events?{query}")).send();
        assert_eq!(reply.problem(422, "invalid")["field"], field, "{query}");
    }
}

fn s9_what_is_wrong_with_a_cloud_event_is_told_without_what_it_says(server: &mut Server) {
    let send = |kind: &str, body: &str| {
        let kind = format!("application/{kind}+json");
        server.ask("POST", "/v1/events").header("content-type", kind).text(body)
    };
    let good = r#"{"specversion":"1.0","id":"1","source":"s","type":"t"}"#;
    let marked = |from: &str| good.replace(from, "marker-secret ");
    for event in [
        r#""marker-secret""#.to_owned(),
        marked("1.0"),
        marked("t\"}"),
        good.replace("\"1\"", "[\"marker-secret\"]"),
        good.replace("\"t\"", "\"marker-secret x\""),
        good.replace('}', ",\"marker-secret\":[]}"),
        good.replace('}', ",\"data_base64\":\"marker-secret\"}"),
    ] {
        for (kind, body) in [
            ("cloudevents", event.clone()),
            ("cloudevents-batch", format!("[{event}]")),
            ("cloudevents-batch", format!("{{\"events\":[{event}]}}")),
        ] {
            let reply = send(kind, &body);
            assert!([400, 422].contains(&reply.status), "{body}: {}", reply.text);
            assert!(!reply.text.contains("marker-secret"), "S9: {body}: {}", reply.text);
        }
    }
    let second = send("cloudevents-batch", &format!("[{good},0]")).problem(422, "invalid");
    assert_eq!(second["item"], 1);
    let after = server.get("/v1/events?after=marker-secret").send().expect(422);
    assert!(!after.text.contains("marker-secret"), "S9: {}", after.text);
}

fn metrics_tell_of_queues_and_requests(server: &mut Server) {
    server.ask("POST", "/v1/jobs").json(&json!({"kind": "t"})).expect(201);
    let text = server.get("/metrics").send().expect(200).text;
    for line in [
        r#"queuekit_queue_jobs{queue="default",status="ready"} 1"#,
        r#"queuekit_queue_health{queue="default"} 80"#,
        r#"queuekit_http_requests_total{method="POST",route="/v1/jobs",status="201"} 1"#,
        "# TYPE queuekit_http_request_seconds histogram",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

fn the_scale_of_queues_is_what_waits_and_runs_over_the_slots_of_workers(server: &mut Server) {
    for (queue, jobs) in [("a", 5), ("b", 2), ("c", 50)] {
        let jobs = vec![json!({"kind": "t", "queue": queue}); jobs];
        server.ask("POST", "/v1/jobs").json(&json!({"jobs": jobs})).expect(201);
    }
    let request = json!({"queues": ["a"], "worker": "w", "limit": 1, "lease_ms": 60_000});
    server.ask("POST", "/v1/reserve").json(&request).expect(200);
    let beat = json!({"id": "w", "name": "w", "queues": ["a"], "kinds": [], "slots": 3,
        "running": 1, "ttl_ms": 60_000});
    server.ask("POST", "/v1/beat").json(&beat).expect(200);
    let path = "/v1/scale?queues=a,b,none-yet";
    let scale = server.get(path).send().expect(200).value();
    let figure = |name: &str| scale[name].as_u64();
    assert_eq!((figure("ready"), figure("running")), (Some(6), Some(1)), "{scale}");
    assert_eq!((figure("workers"), figure("slots")), (Some(1), Some(3)), "{scale}");
    assert_eq!(figure("wanted_workers"), Some(3), "{scale}");
    assert!(scale["oldest_ready_s"].is_number(), "{scale}");
    let wide = server.get(&format!("{path}&slots_per_worker=7")).send().expect(200).value();
    assert_eq!(wide["wanted_workers"], 1);
    assert_eq!(server.get("/v1/scale").send().expect(200).value()["ready"], 56);
    let many = vec!["a"; 1000].join(",");
    assert_eq!(server.get(&format!("/v1/scale?queues={many}")).send().expect(200).value(), {
        server.get("/v1/scale?queues=a").send().expect(200).value()
    });
    let too_many = format!("queues={many},a");
    for wrong in ["queues=a%20b", "queues=", "slots_per_worker=0", &too_many] {
        server.get(&format!("/v1/scale?{wrong}")).send().problem(422, "invalid");
    }
}

fn a_stream_tells_what_has_changed(server: &mut Server) {
    let stored = server.ask("POST", "/v1/jobs").json(&json!({"kind": "t"})).expect(201).value();
    let id = stored["id"].as_str().unwrap();
    let mut events = stream(server, &format!("/v1/stream?job={id}"));
    let mut next = |wanted: &str| loop {
        let (name, data) = events();
        if name == wanted {
            return data;
        }
    };
    let queue: Value = serde_json::from_str(&next("queue")).unwrap();
    assert_eq!(queue["name"], "default");
    let job: Value = serde_json::from_str(&next("job")).unwrap();
    assert_eq!((&job["id"], &job["status"]), (&json!(id), &json!("ready")));
    server.ask("POST", &format!("/v1/jobs/{id}/cancel")).send().expect(200);
    let job: Value = serde_json::from_str(&next("job")).unwrap();
    assert_eq!(job["status"], "cancelled");
    server.ask("DELETE", &format!("/v1/jobs/{id}")).send().expect(204);
    assert_eq!(next("gone"), id);
}

/// Events as they come: name and data.
fn stream(server: &Server, path: &str) -> impl FnMut() -> (String, String) + use<> {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", server.address()).unwrap();
    let mut lines = BufReader::new(stream).lines();
    move || {
        let mut name = String::new();
        loop {
            let line = lines.next().expect("the stream goes on").unwrap();
            if let Some(event) = line.strip_prefix("event: ") {
                name = event.to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return (name, data.to_owned());
            }
        }
    }
}

#[test]
fn s6_words_that_are_no_methods_make_no_figures_of_their_own() {
    let store = crate::common::Store::of("memory").unwrap();
    let server = Server::start(store, &[]);
    for n in 0..3 {
        server.ask(&format!("MADE-UP-{n}"), "/v1/jobs").send();
    }
    let text = server.get("/metrics").send().expect(200).text;
    assert!(text.contains(r#"method="other""#) && !text.contains("MADE-UP"), "{text}");
}

#[test]
fn s6_a_page_of_large_jobs_ends_early_and_goes_on_at_its_cursor() {
    let store = crate::common::Store::of("memory").unwrap();
    let server = Server::start(store, &[]);
    for _ in 0..40 {
        let job = json!({"kind": "t", "payload": "x".repeat(900_000)});
        server.ask("POST", "/v1/jobs").json(&job).expect(201);
    }
    let (mut seen, mut pages, mut path) = (0, 0, "/v1/jobs?limit=1000".to_owned());
    loop {
        let page = server.get(&path).send().expect(200);
        assert!(page.text.len() < 20_000_000, "{}", page.text.len());
        let page = page.value();
        seen += page["jobs"].as_array().unwrap().len();
        pages += 1;
        let Some(cursor) = page["cursor"].as_str() else { break };
        path = format!("/v1/jobs?limit=1000&cursor={cursor}");
    }
    assert_eq!(seen, 40);
    assert!(pages > 1, "{pages}");
}

fn health_is_a_word(server: &mut Server) {
    for path in ["/healthz", "/readyz"] {
        assert_eq!(server.get(path).send().expect(200).text, "ok\n");
    }
}
