//! Jobs by HTTP: storing, reading, and what an operator does with them.

use crate::common::{Server, on_every_store};
use serde_json::{Value, json};

on_every_store! {
    a_job_is_stored_and_read_back_as_it_was_given,
    payload_bytes_survive_untouched,
    an_idempotency_key_stores_one_job,
    an_id_makes_a_call_repeatable,
    many_jobs_are_stored_in_one_step_with_an_outcome_each,
    r2_8_a_full_queue_answers_429_and_stores_nothing,
    the_queue_that_is_one_too_many_is_refused_with_the_remedy,
    create_job_is_the_short_form,
    what_is_wrong_is_named_with_its_field,
    a_traceparent_goes_into_the_job,
    jobs_are_listed_a_page_at_a_time,
    an_operator_cancels_retries_reschedules_dead_letters_and_deletes,
    a_filter_that_names_nothing_deletes_nothing,
    a_bulk_action_counts_first_and_acts_then,
    why_says_what_a_job_waits_for,
}

fn enqueue(server: &Server, job: Value) -> String {
    let reply = server.ask("POST", "/v1/jobs").json(&job).expect(201);
    reply.value()["id"].as_str().unwrap().to_owned()
}

fn job(server: &Server, id: &str) -> Value {
    server.get(&format!("/v1/jobs/{id}")).send().expect(200).value()
}

fn a_job_is_stored_and_read_back_as_it_was_given(server: &mut Server) {
    let given = json!({
        "kind": "email", "payload": {"to": "ada"}, "queue": "emails", "priority": "high",
        "max_attempts": 7, "delay_ms": 60_000, "partition_key": "ada", "timeout_ms": 5000,
        "deadline_ms": 600_000, "metadata": {"tenant": "ü"},
    });
    let stored = server.ask("POST", "/v1/jobs").json(&given).expect(201).value();
    assert_eq!(stored["outcome"], "created");
    assert_eq!(stored["job"]["status"], "scheduled");
    let read = job(server, stored["id"].as_str().unwrap());
    for (name, wanted) in [
        ("queue", json!("emails")),
        ("kind", json!("email")),
        ("status", json!("scheduled")),
        ("priority", json!(20)),
        ("max_attempts", json!(7)),
        ("attempts", json!(0)),
        ("partition_key", json!("ada")),
        ("timeout_ms", json!(5000)),
        ("metadata", json!({"tenant": "ü"})),
        ("payload", json!({"to": "ada"})),
        ("errors", json!([])),
        ("logs", json!([])),
    ] {
        assert_eq!(read[name], wanted, "{name} of {read}");
        assert_eq!(stored["job"][name], wanted, "{name} as it was answered");
    }
    server.get("/v1/jobs/01890000-0000-7000-8000-0000000037a8").send().problem(404, "not_found");
}

fn payload_bytes_survive_untouched(server: &mut Server) {
    for payload in [
        "9007199254740993",
        r#"{"b":1e400, "a":[1.10,   {}],"a":null}"#,
        r#""\ud800 \u0000 \/""#,
        "123456789012345678901234567890",
        "[[[[[[[[[[]]]]]]]]]]",
    ] {
        let body = format!(r#"{{"kind":"t","payload":{payload}}}"#);
        let stored = server.ask("POST", "/v1/jobs").text(body).expect(201);
        // Not every reader of JSON takes each of these.
        let id = stored.text.split('"').nth(3).unwrap();
        let read = server.get(&format!("/v1/jobs/{id}")).send().expect(200);
        let wanted = format!(r#""payload":{payload},"#);
        assert!(read.text.contains(&wanted), "{wanted} in {}", read.text);
    }
    let id = enqueue(server, json!({"kind": "t", "payload_base64": "AP8g"}));
    let read = job(server, &id);
    assert_eq!(read["payload_base64"], "AP8g");
    assert!(read.get("payload").is_none());
}

fn an_idempotency_key_stores_one_job(server: &mut Server) {
    let ask = || server.ask("POST", "/v1/jobs").header("Idempotency-Key", "order-7");
    let first = ask().json(&json!({"kind": "t"})).expect(201).value();
    let second = ask().json(&json!({"kind": "t"})).expect(200).value();
    assert_eq!(second["outcome"], "duplicate");
    assert_eq!((&second["id"], &second["status"]), (&first["id"], &json!("ready")));
    let in_body = json!({"kind": "t", "idempotency_key": "order-7"});
    assert_eq!(
        server.ask("POST", "/v1/jobs").json(&in_body).expect(200).value()["id"],
        first["id"]
    );
    ask().json(&json!({"kind": "t", "idempotency_key": "other"})).problem(422, "invalid");
    ask().json(&json!({"jobs": [{"kind": "t"}]})).problem(422, "invalid");
}

fn an_id_makes_a_call_repeatable(server: &mut Server) {
    let id = enqueue(server, json!({"kind": "t", "payload": 1}));
    server.ask("DELETE", &format!("/v1/jobs/{id}")).send().expect(204);
    let again = json!({"kind": "t", "payload": 1, "id": id});
    assert_eq!(enqueue(server, again.clone()), id);
    assert_eq!(server.ask("POST", "/v1/jobs").json(&again).expect(200).value()["id"], id);
    let other = json!({"kind": "t", "payload": 2, "id": id});
    server.ask("POST", "/v1/jobs").json(&other).problem(409, "conflict");
    let elsewhere = json!({"kind": "t", "payload": 1, "id": id, "queue": "elsewhere"});
    server.ask("POST", "/v1/jobs").json(&elsewhere).problem(422, "invalid");
}

fn many_jobs_are_stored_in_one_step_with_an_outcome_each(server: &mut Server) {
    let one = json!({"kind": "t", "idempotency_key": "k"});
    let jobs = json!({"jobs": [one, {"kind": "t"}, one]});
    let stored = server.ask("POST", "/v1/jobs").json(&jobs).expect(201).value();
    let outcomes: Vec<_> = stored["outcomes"].as_array().unwrap().iter().collect();
    let words: Vec<_> =
        outcomes.iter().map(|outcome| outcome["outcome"].as_str().unwrap()).collect();
    assert_eq!(words, ["created", "created", "duplicate"]);
    assert_eq!(outcomes[0]["id"], outcomes[2]["id"]);
    let wrong = json!({"jobs": [{"kind": "t"}, {"kind": "t", "max_attempts": 0}]});
    let problem = server.ask("POST", "/v1/jobs").json(&wrong).problem(422, "invalid");
    assert_eq!((&problem["item"], &problem["field"]), (&json!(1), &json!("max_attempts")));
    let listed = server.get("/v1/jobs").send().expect(200).value();
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 2, "nothing of the wrong call is stored");
    let empty = server.ask("POST", "/v1/jobs").json(&json!({"jobs": []})).expect(200).value();
    assert_eq!(empty["outcomes"], json!([]));
}

fn r2_8_a_full_queue_answers_429_and_stores_nothing(server: &mut Server) {
    let settings = json!({"max_pending": 1});
    server.ask("PATCH", "/v1/queues/default").json(&settings).expect(200);
    enqueue(server, json!({"kind": "t"}));
    let full = server.ask("POST", "/v1/jobs").json(&json!({"kind": "t"}));
    assert!(full.header("retry-after").is_some_and(|wait| wait.parse::<u64>().unwrap() >= 1));
    full.problem(429, "queue_full");
    let batch = json!({"jobs": [{"kind": "t"}, {"kind": "t"}]});
    let problem = server.ask("POST", "/v1/jobs").json(&batch).problem(429, "queue_full");
    assert_eq!(problem["outcomes"][1]["outcome"], "queue_full");
    let short = server.ask("POST", "/createJob").json(&json!({"kind": "t", "payload": 1}));
    short.problem(429, "queue_full");
    let listed = server.get("/v1/jobs").send().value();
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 1);
}

fn create_job_is_the_short_form(server: &mut Server) {
    let body = json!({"kind": "email", "payload": {}, "max_retries": 4, "idempotency_key": "k"});
    let created = server.ask("POST", "/createJob").json(&body).expect(201).value();
    assert_eq!(created["status"], "pending");
    let again = server.ask("POST", "/createJob").json(&body).expect(200).value();
    assert_eq!(again, created);
    let id = created["job_id"].as_str().unwrap();
    server.ask("POST", &format!("/v1/jobs/{id}/cancel")).send().expect(200);
    let again = server.ask("POST", "/createJob").json(&body).expect(200).value();
    assert_eq!((&again["job_id"], &again["status"]), (&created["job_id"], &json!("cancelled")));
    let too_many =
        server.ask("POST", "/createJob").json(&json!({"kind": "t", "max_retries": 1000}));
    assert_eq!(too_many.problem(422, "invalid")["field"], "max_retries");
    let read = job(server, created["job_id"].as_str().unwrap());
    assert_eq!((&read["max_attempts"], &read["queue"]), (&json!(5), &json!("default")));
}

fn the_queue_that_is_one_too_many_is_refused_with_the_remedy(server: &mut Server) {
    for thousand in 0..10 {
        let jobs: Vec<_> = (0..1000)
            .map(|n| json!({"kind": "t", "queue": format!("q{}", thousand * 1000 + n)}))
            .collect();
        server.ask("POST", "/v1/jobs").json(&json!({ "jobs": jobs })).expect(201);
    }
    let one_more = json!({"kind": "t", "queue": "one-more"});
    let refused = server.ask("POST", "/v1/jobs").json(&one_more).problem(409, "too_many_queues");
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("10000 queues") && detail.contains("DELETE /v1/queues"), "{detail}");
    server.ask("DELETE", "/v1/queues/q0?force=true").send().expect(204);
    server.ask("POST", "/v1/jobs").json(&one_more).expect(201);
}

fn what_is_wrong_is_named_with_its_field(server: &mut Server) {
    let ask = |body: &str| server.ask("POST", "/v1/jobs").text(body);
    ask("{").problem(400, "bad_request");
    ask("").problem(400, "bad_request");
    ask(&format!(r#"{{"kind":"t","payload":{}{}}}"#, "[".repeat(65), "]".repeat(65)))
        .problem(400, "bad_request");
    for (body, field) in [
        (r#"{"payload":1}"#, "body"),
        (r#"{"kind":"a b"}"#, "kind"),
        (r#"{"type":"a b"}"#, "kind"),
        (r#"{"kind":"t","type":"other"}"#, "body"),
        (r#"{"kind":"t","queue":""}"#, "queue"),
        (r#"{"kind":"t","queue":"event.x"}"#, "queue"),
        (r#"{"kind":"t","priority":32}"#, "priority"),
        (r#"{"kind":"t","priority":"urgent"}"#, "priority"),
        (r#"{"kind":"t","max_attempts":0}"#, "max_attempts"),
        (r#"{"kind":"t","max_attempts":-1}"#, "max_attempts"),
        (r#"{"kind":"t","delay_ms":99999999999999}"#, "delay_ms"),
        (r#"{"kind":"t","timeout_ms":0}"#, "timeout_ms"),
        (r#"{"kind":"t","deadline_ms":0}"#, "deadline_ms"),
        (r#"{"kind":"t","delay_ms":1,"run_at":"2026-01-01T00:00:00Z"}"#, "run_at"),
        (r#"{"kind":"t","run_at":"tomorrow"}"#, "run_at"),
        (r#"{"kind":"t","payload":1,"payload_base64":"AA=="}"#, "payload"),
        (r#"{"kind":"t","payload_base64":"?"}"#, "payload"),
        (r#"{"kind":"t","idempotency_key":""}"#, "idempotency_key"),
        (r#"{"kind":"t","payloads":1}"#, "payloads"),
        (r#"{"kind":"t","run_at":"9999-12-31T23:59:59Z"}"#, "run_at"),
        (r#"{"kind":"t","run_at":"9998-01-01T00:00:00Z"}"#, "run_at"),
    ] {
        let problem = ask(body).problem(422, "invalid");
        assert_eq!(problem["field"], field, "{body}: {problem}");
    }
    let text = ask(r#""x""#).problem(422, "invalid");
    assert_eq!(text["detail"], "expected an object at line 1 column 3");
    for body in [
        r#"{"kind":"hunter2 x"}"#,
        r#"{"kind":"t","queue":"hunter2 x"}"#,
        r#"{"kind":"t","max_attempts":"hunter2"}"#,
        r#"{"kind":"t","priority":"hunter2"}"#,
        r#"{"kind":"t","id":"hunter2"}"#,
        r#"{"kind":"t","run_at":"hunter2"}"#,
        r#"{"kind":"t","payload_base64":"hunter2?"}"#,
        r#"{"kind":"t","hunter2 and more":1}"#,
        r#""hunter2""#,
    ] {
        let reply = ask(body).expect(422);
        assert!(!reply.text.contains("hunter2"), "S9: {}", reply.text);
    }
    let plain = server.ask("POST", "/v1/jobs").header("content-type", "text/plain").text("{}");
    plain.problem(415, "unsupported_media_type");
    server.get("/v1/nothing").send().problem(404, "not_found");
    let wrong = server.ask("PUT", "/v1/jobs").json(&json!({}));
    assert!(wrong.header("allow").is_some_and(|allowed| allowed.contains("POST")));
    wrong.problem(405, "method_not_allowed");
    server.get("/v1/jobs/x").send().problem(404, "not_found");
    server.get("/v1/jobs?status=asleep").send().problem(422, "invalid");
    server.get("/v1/jobs?limit=0").send().problem(422, "invalid");
    server.get("/v1/jobs?limit=many").send().problem(400, "bad_request");
    server.get("/v1/jobs?staus=dead").send().problem(400, "bad_request");
    server.get("/v1/jobs?cursor=00").send().problem(422, "invalid");
}

fn a_traceparent_goes_into_the_job(server: &mut Server) {
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let stored = |parent: &str, metadata: Value| {
        let ask = server.ask("POST", "/v1/jobs").header("traceparent", parent);
        let ask = ask.header("tracestate", "a=b");
        let stored = ask.json(&json!({"kind": "t", "metadata": metadata})).expect(201).value();
        let found = job(server, stored["id"].as_str().unwrap())["metadata"].clone();
        assert_eq!(stored["job"]["metadata"], found);
        found
    };
    assert_eq!(stored(parent, json!({})), json!({"traceparent": parent, "tracestate": "a=b"}));
    // A span in the job's metadata takes precedence over the header. An invalid header is ignored.
    assert_eq!(stored(parent, json!({"traceparent": "own"})), json!({"traceparent": "own"}));
    assert_eq!(stored("00-0-0-01", json!({})), json!({}));
    // No job is refused because its metadata has no room for a span.
    let full = json!({"a": "x".repeat(4095)});
    assert_eq!(stored(parent, full.clone()), full);
}

fn jobs_are_listed_a_page_at_a_time(server: &mut Server) {
    let jobs: Vec<_> = (0..5).map(|n| json!({"kind": "t", "payload": n, "queue": "a"})).collect();
    server.ask("POST", "/v1/jobs").json(&json!({"jobs": jobs})).expect(201);
    enqueue(server, json!({"kind": "other", "queue": "b", "delay_ms": 60_000}));
    let mut payloads = Vec::new();
    let mut path = "/v1/jobs?queue=a&limit=2".to_owned();
    loop {
        let page = server.get(&path).send().expect(200).value();
        payloads.extend(page["jobs"].as_array().unwrap().iter().map(|job| job["payload"].clone()));
        let Some(cursor) = page["cursor"].as_str() else { break };
        path = format!("/v1/jobs?queue=a&limit=2&cursor={cursor}");
    }
    assert_eq!(payloads, [0, 1, 2, 3, 4]);
    for (query, wanted) in [
        ("status=scheduled", 1),
        ("status=pending", 6),
        ("status=ready,scheduled", 6),
        ("kind=other", 1),
        ("type=other", 1),
        ("queue=b&kind=t", 0),
    ] {
        let found = server.get(&format!("/v1/jobs?{query}")).send().expect(200).value();
        assert_eq!(found["jobs"].as_array().unwrap().len(), wanted, "{query}");
    }
    let of_queue = server.get("/v1/queues/b/jobs").send().expect(200).value();
    assert_eq!(of_queue["jobs"].as_array().unwrap().len(), 1);
}

fn an_operator_cancels_retries_reschedules_dead_letters_and_deletes(server: &mut Server) {
    let id = enqueue(server, json!({"kind": "t", "delay_ms": 60_000}));
    let path = format!("/v1/jobs/{id}");
    let act =
        |action: &str, body: Value| server.ask("POST", &format!("{path}/{action}")).json(&body);
    act("retry", json!({})).problem(409, "conflict");
    assert_eq!(
        act("reschedule", json!({"delay_ms": 0})).expect(200).value()["outcome"],
        "rescheduled"
    );
    assert_eq!(job(server, &id)["status"], "ready");
    assert_eq!(act("cancel", json!({})).expect(200).value()["outcome"], "cancelled");
    assert_eq!(act("cancel", json!({})).expect(200).value()["outcome"], "already_done");
    act("reschedule", json!({"delay_ms": 0})).problem(409, "conflict");
    assert_eq!(act("retry", json!({})).expect(200).value()["outcome"], "retried");
    let dead_lettered = act("dead-letter", json!({"reason": "poison"})).expect(200).value();
    assert_eq!(dead_lettered["outcome"], "dead_lettered");
    let read = job(server, &id);
    assert_eq!((&read["status"], &read["reason"]), (&json!("dead"), &json!("poison")));
    act("dead-letter", json!({})).problem(422, "invalid");
    server.ask("DELETE", &path).send().expect(204);
    server.ask("DELETE", &path).send().problem(404, "not_found");
    for action in ["retry", "cancel"] {
        act(action, json!({})).problem(404, "not_found");
    }
}

fn a_bulk_action_counts_first_and_acts_then(server: &mut Server) {
    for _ in 0..3 {
        enqueue(server, json!({"kind": "t", "queue": "a"}));
    }
    enqueue(server, json!({"kind": "t", "queue": "b"}));
    let bulk = |body: Value| server.ask("POST", "/v1/jobs/bulk").json(&body);
    let filter = json!({"queue": "a", "status": "ready"});
    let counted = bulk(json!({"action": "cancel", "filter": filter, "dry_run": true}));
    let counted = counted.expect(200).value();
    assert_eq!((&counted["matched"], &counted["changed"]), (&json!(3), &json!(0)));
    let first = bulk(json!({"action": "cancel", "filter": filter, "limit": 2})).expect(200).value();
    assert_eq!(first["changed"], 2);
    let rest = json!({"action": "cancel", "filter": filter, "cursor": first["cursor"]});
    assert_eq!(bulk(rest).expect(200).value()["changed"], 1);
    let listed = server.get("/v1/jobs?status=ready").send().value();
    assert_eq!(listed["jobs"][0]["queue"], "b");
    let many: Vec<_> = (0..130).map(|_| json!({"kind": "t", "queue": "c"})).collect();
    server.ask("POST", "/v1/jobs").json(&json!({ "jobs": many })).expect(201);
    let all = bulk(json!({"action": "delete", "filter": {"queue": "c"}, "limit": 1000}));
    let all = all.expect(200).value();
    assert_eq!((&all["matched"], &all["changed"]), (&json!(130), &json!(130)), "in any parts");
    bulk(json!({"action": "reschedule", "filter": {"queue": "c"}})).problem(422, "invalid");
    bulk(json!({"action": "explode", "filter": {"queue": "c"}})).problem(422, "invalid");
}

/// Every field of a filter but `all`.
const FILTERS: [&str; 14] = [
    "id",
    "queue",
    "status",
    "kind",
    "partition_key",
    "worker",
    "error",
    "group",
    "metadata",
    "payload",
    "created_from",
    "created_to",
    "finished_from",
    "finished_to",
];

/// A variable that is not set becomes null, and null is not every job there is.
fn a_filter_that_names_nothing_deletes_nothing(server: &mut Server) {
    for queue in ["a", "b"] {
        enqueue(server, json!({"kind": "t", "queue": queue}));
    }
    let bulk = |action: &str, filter: Value| {
        let reason = (action == "dead-letter").then_some("r");
        let body = json!({"action": action, "reason": reason, "delay_ms": 0, "filter": filter});
        server.ask("POST", "/v1/jobs/bulk").json(&body)
    };
    for action in ["delete", "dead-letter", "cancel", "retry", "reschedule"] {
        for name in FILTERS {
            let problem = bulk(action, json!({ name: null })).problem(422, "invalid");
            assert_eq!(problem["field"], format!("filter.{name}"), "{problem}");
        }
        let problem = bulk(action, json!({})).problem(422, "invalid");
        assert!(problem["detail"].as_str().unwrap().contains("{\"all\": true}"), "{problem}");
        bulk(action, json!({"all": false})).problem(422, "invalid");
        bulk(action, json!({"all": null})).problem(422, "invalid");
        bulk(action, json!({"all": true, "queue": "a"})).problem(422, "invalid");
    }
    let listed = server.get("/v1/jobs").send().value();
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 2, "{listed}");
    let deleted = bulk("delete", json!({"all": true})).expect(200).value();
    assert_eq!(deleted["changed"], 2);
}

fn why_says_what_a_job_waits_for(server: &mut Server) {
    let id = enqueue(server, json!({"kind": "t", "delay_ms": 60_000}));
    let why = || server.get(&format!("/v1/jobs/{id}/why")).send().expect(200).value();
    assert_eq!(why()["reason"], "scheduled");
    server
        .ask("POST", &format!("/v1/jobs/{id}/reschedule"))
        .json(&json!({"delay_ms": 0}))
        .expect(200);
    assert_eq!(why()["reason"], "no_live_worker");
    server.ask("POST", "/v1/queues/default/pause").send().expect(200);
    let said = why();
    assert_eq!(said["reason"], "paused");
    assert!(said["sentence"].as_str().unwrap().contains("paused"), "{said}");
}
