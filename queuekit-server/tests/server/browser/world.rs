//! A server with something of everything that pages show, and the addresses of the pages.

use std::time::{Duration, Instant};

use queuekit::JobDraft;
use queuekit::schedules::ScheduleDraft;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::common::{Server, Store, by, guarded_on};
use crate::ui::Browser;

pub struct World {
    pub server: Server,
    pub pages: Vec<Page>,
}

pub struct Page {
    /// For people.
    pub name: String,
    pub path: String,
    pub status: u16,
}

/// The text for a free-text field, given the name of the field and an ordinary value for it.
pub type Say = fn(&'static str, &'static str) -> String;

/// The ordinary value.
pub fn plain(_: &'static str, plain: &'static str) -> String {
    plain.to_owned()
}

/// The key that the tests log in with.
pub const KEY: &str = "admin";

impl World {
    /// On a store of this kind; none if there is no server for it.
    pub fn on(kind: &str, say: Say) -> Option<Self> {
        let environment = say("environment", "staging");
        let settings = format!("[dashboard]\nenvironment = {environment:?}");
        let server = guarded_on(Store::of(kind)?, &settings);
        let pages = Fill { server: &server, say, pages: Vec::new() }.all();
        Some(Self { server, pages })
    }

    /// The address of the page of this name.
    #[track_caller]
    pub fn url(&self, name: &str) -> String {
        let page = self.pages.iter().find(|page| page.name == name);
        format!("{}{}", self.server.url, page.unwrap_or_else(|| panic!("{name}")).path)
    }
}

struct Fill<'a> {
    server: &'a Server,
    say: Say,
    pages: Vec<Page>,
}

impl Fill<'_> {
    fn all(mut self) -> Vec<Page> {
        let lost = self.lost();
        self.queues();
        self.jobs();
        self.running();
        self.schedules();
        self.events();
        self.errors();
        self.bulk();
        self.rest();
        self.expire(&lost);
        self.pages
    }

    fn page(&mut self, name: &str, path: impl Into<String>) {
        self.pages.push(Page { name: name.to_owned(), path: path.into(), status: 200 });
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let reply = by(self.server, KEY, method, path).json(body);
        assert!((200..300).contains(&reply.status), "{method} {path} {body}: {}", reply.text);
        if reply.text.is_empty() { Value::Null } else { reply.value() }
    }

    fn enqueue(&self, job: &Value) -> String {
        id(&self.send("POST", "/v1/jobs", job))
    }

    /// A job with every text that one can have.
    fn job(&self, queue: &str, kind: &str) -> Value {
        let (key, value) =
            (self.say("payload name", "to"), self.say("payload", "ada@shop.example"));
        let (name, tenant) = (self.say("metadata name", "tenant"), self.say("metadata", "acme"));
        json!({
            "queue": queue, "kind": kind, "payload": {key: value, "order": 1017},
            "metadata": {name: tenant},
        })
    }

    /// Reserves the next job of a queue, and returns the token of its lease.
    fn reserve(&self, queue: &str, lease_ms: u64) -> String {
        let asked = json!({"queues": [queue], "worker": "shop-1", "lease_ms": lease_ms});
        let got = self.send("POST", "/v1/reserve", &asked);
        got["leases"][0]["token"].as_str().unwrap_or_else(|| panic!("{got}")).to_owned()
    }

    fn nack(&self, queue: &str, nack: &Value) {
        let mut nack = nack.clone();
        nack["token"] = json!(self.reserve(queue, 60_000));
        self.send("POST", "/v1/nack", &json!({"nacks": [nack]}));
    }

    fn say(&self, field: &'static str, plain: &'static str) -> String {
        (self.say)(field, plain)
    }

    /// A job whose worker is gone.
    fn lost(&self) -> String {
        let id = self.enqueue(&self.job("thumbnails", "image.crop"));
        self.reserve("thumbnails", 1000);
        id
    }

    fn expire(&mut self, id: &str) {
        let end = Instant::now() + Duration::from_secs(10);
        let job = || by(self.server, KEY, "GET", &format!("/v1/jobs/{id}")).send().value();
        while job()["status"] != "expired" {
            assert!(Instant::now() < end, "its lease does not expire: {}", job());
            std::thread::sleep(Duration::from_millis(20));
        }
        self.page("job-expired", format!("/ui/jobs/{id}"));
    }

    fn queues(&mut self) {
        let text = self.say("description", "Mails to the customers of the shop.");
        self.send("PATCH", "/v1/queues/mails", &json!({ "description": text }));
        self.send("POST", "/v1/queues/reports/pause", &json!({}));
        self.enqueue(&self.job("reports", "report.daily"));
        self.page("overview", "/ui");
        self.page("queues", "/ui/queues");
        self.page("queue", "/ui/queues/mails");
        self.page("queue-paused", "/ui/queues/reports");
    }

    fn jobs(&mut self) {
        let mail = self.job("mails", "mail.welcome");
        let error = self.say("error", "smtp: connect to mail.shop.example:587: timed out");
        let dead = self.enqueue(&mail);
        for _ in 0..3 {
            let nack = json!({"kind": "retry", "delay_ms": 0, "error": error});
            self.nack("mails", &nack);
        }
        let failed = self.enqueue(&mail);
        let nack = json!({"kind": "retry", "delay_ms": 3_600_000, "error": error});
        self.nack("mails", &nack);
        let released = self.enqueue(&mail);
        let nack = json!({"kind": "release", "delay_ms": 3_600_000, "cause": "snooze"});
        self.nack("mails", &nack);
        let undecodable = self.enqueue(&self.job("letters", "mail.letter"));
        let error = self.say("undecodable", "payload of mail.letter at to: a list");
        let nack = json!({"kind": "release", "cause": "undecodable", "error": error});
        self.nack("letters", &nack);
        let completed = self.enqueue(&mail);
        let result = json!({"accepted": self.say("result", "ada@shop.example")});
        let token = self.reserve("mails", 60_000);
        self.send("POST", "/v1/ack", &json!({"acks": [{"token": token, "result": result}]}));
        let cancelled = self.enqueue(&mail);
        self.send("POST", &format!("/v1/jobs/{cancelled}/cancel"), &json!({}));
        let buried = self.enqueue(&mail);
        let reason = json!({"reason": self.say("reason", "the address bounces")});
        self.send("POST", &format!("/v1/jobs/{buried}/dead-letter"), &reason);
        let mut keyed = mail.clone();
        keyed["partition_key"] = json!(self.say("partition key", "customer-7"));
        keyed["idempotency_key"] = json!(self.say("idempotency key", "welcome-1017"));
        let ready = self.enqueue(&keyed);
        keyed["idempotency_key"] = json!("welcome-1018");
        let blocked = self.enqueue(&keyed);
        let mut later = mail;
        later["delay_ms"] = json!(86_400_000);
        let scheduled = self.enqueue(&later);
        for (name, id) in [
            ("dead", &dead),
            ("failed", &failed),
            ("released", &released),
            ("undecodable", &undecodable),
            ("completed", &completed),
            ("cancelled", &cancelled),
            ("dead-lettered", &buried),
            ("ready", &ready),
            ("blocked", &blocked),
            ("scheduled", &scheduled),
        ] {
            self.page(&format!("job-{name}"), format!("/ui/jobs/{id}"));
        }
        self.page("job-copy", format!("/ui/jobs/{dead}/copy"));
        self.page("jobs", "/ui/jobs");
        self.page("jobs-dead", "/ui/jobs?q=queue:mails+status:dead");
        let found = query(&[("q", format!("error:{:?}", self.say("filter", "timed out")))]);
        self.page("jobs-error", format!("/ui/jobs?{found}"));
        let wrong = query(&[("q", self.say("wrong filter", "staus:dead"))]);
        self.page("jobs-wrong-filter", format!("/ui/jobs?{wrong}"));
    }

    fn running(&mut self) {
        let id = self.enqueue(&self.job("images", "image.resize"));
        let token = self.reserve("images", 3_600_000);
        let progress = json!({"fraction": 0.4, "message": self.say("progress", "800 px")});
        let lines = ["read 2.1 MB".to_owned(), self.say("log", "kettle at 1600 px")];
        let report = json!({"token": token, "progress": progress, "lines": lines});
        self.send("POST", "/v1/report", &json!({ "reports": [report] }));
        let step = json!({"token": token, "name": "download", "result": null});
        self.send("POST", "/v1/checkpoint", &step);
        let since = by(self.server, KEY, "GET", &format!("/v1/jobs/{id}")).send().value();
        let since = &since["started_at"];
        let beat = json!({
            "id": "shop-1", "name": self.say("worker name", "shop"), "pid": 4711,
            "queues": ["mails", "images"], "kinds": ["mail.welcome", "image.resize"],
            "slots": 8, "running": 1, "ttl_ms": 600_000, "started_at": since,
            "host": self.say("worker host", "web-1"),
            "version": self.say("worker version", "0.4.1"),
            "jobs": [{"id": id, "kind": "image.resize", "since": since}],
        });
        self.send("POST", "/v1/beat", &beat);
        self.page("job-running", format!("/ui/jobs/{id}"));
        self.page("workers", "/ui/workers");
    }

    fn schedules(&mut self) {
        let job = self.job("reports", "report.nightly");
        let nightly = json!({"cron": "30 2 * * *", "zone": "Europe/Berlin", "job": job});
        self.send("PUT", "/v1/schedules/nightly", &nightly);
        self.send("POST", "/v1/schedules/nightly/run", &json!({}));
        let often = json!({"every_ms": 3_600_000, "job": job, "paused": true});
        self.send("PUT", "/v1/schedules/hourly", &often);
        self.page("schedules", "/ui/schedules");
        self.page("schedule", "/ui/schedules/nightly");
        self.changed_schedule();
    }

    /// A schedule that a program declared and an operator changed. No other process can declare one
    /// in the memory of the server.
    fn changed_schedule(&mut self) {
        let url = self.server.store.url.clone();
        if url == "memory:" {
            return;
        }
        let declare = async {
            let client = queuekit::connect(&url).await.expect("the store");
            let job = JobDraft::new("report.weekly", "{}").queue("reports");
            client.schedule(ScheduleDraft::cron("weekly", "0 6 * * 1", job)).await.expect("stored");
            client.close().await.expect("it closes");
        };
        Runtime::new().expect("a runtime").block_on(declare);
        let changed = [("timing", "0 8 * * 1"), ("zone", ""), ("payload", "{}")];
        let browser = Browser::of(self.server, KEY);
        browser.post("/ui/schedules/weekly/edit", &changed).expect(303);
        self.page("schedule-changed", "/ui/schedules/weekly");
    }

    fn events(&mut self) {
        self.send("PUT", "/v1/subscriptions/warehouse", &json!({"events": "order.*"}));
        let name = self.say("event metadata name", "tenant");
        let event = json!({
            "type": "order.paid",
            "data": {"number": 912_331, "customer": 1, "item": self.say("event data", "kettle"),
                     "total": 7481, "address": "12 Long Road, Little Town"},
            "partition_key": self.say("event partition key", "customer-7"),
            "idempotency_key": self.say("event idempotency key", "order-1017"),
            "metadata": {name: self.say("event metadata", "acme")},
        });
        self.send("POST", "/v1/events", &event);
        self.send("POST", "/v1/events", &json!({"type": "order.sent"}));
        let error = self.say("delivery error", "the shelf is empty");
        self.nack("event.warehouse", &json!({"kind": "fatal", "error": error}));
        self.page("events", "/ui/events");
        self.page("consumer", "/ui/consumers/warehouse");
    }

    fn errors(&mut self) {
        let groups = by(self.server, KEY, "GET", "/v1/errors?queue=mails").send().value();
        let group = groups["groups"][0]["id"].as_str().unwrap_or_else(|| panic!("{groups}"));
        self.page("errors", "/ui/errors");
        self.page("error-group", format!("/ui/errors/{group}?queue=mails"));
    }

    fn bulk(&mut self) {
        for _ in 0..2 {
            self.enqueue(&self.job("old", "mail.old"));
        }
        let filter = json!({"queue": "old", "error": self.say("bulk filter", "gone")});
        self.send("POST", "/v1/jobs/bulk", &json!({"action": "retry", "filter": filter}));
        let asked = query(&[("action", "retry".to_owned()), ("q", "status:dead".to_owned())]);
        self.page("bulk", format!("/ui/bulk?{asked}"));
        let fields = [("action", "cancel"), ("q", "queue:old"), ("matched", "2")];
        let begun = Browser::of(self.server, KEY).post("/ui/bulk", &fields).expect(303);
        self.page("bulk-run", begun.header("location").expect("its page"));
    }

    fn rest(&mut self) {
        for name in ["audit", "doctor", "keys", "about"] {
            self.page(name, format!("/ui/{name}"));
        }
        let missing = query(&[("q", self.say("missing page", "x"))]);
        let path = format!("/ui/queues/nothing?{missing}");
        self.pages.push(Page { name: "missing".to_owned(), path, status: 404 });
        let search = query(&[("q", self.say("search", "mail"))]);
        self.page("queues-found", format!("/ui/queues?{search}"));
    }
}

fn id(reply: &Value) -> String {
    reply["id"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
}

fn query(fields: &[(&str, String)]) -> String {
    serde_urlencoded::to_string(fields).expect("fields")
}
