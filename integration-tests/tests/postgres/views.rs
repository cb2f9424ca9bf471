//! What people see at psql, and what roles may do (docs/postgres.md).

use std::collections::BTreeMap;
use std::time::Duration;

use crate::common::postgres::client;
use crate::common::psql::Psql;
use queuekit_conformance::kit::{DAY, HOUR, build, carrying, default_queue, draft, request};
use queuekit_conformance::this_test;
use queuekit_core::queue::{KeyOnDead, KeyOnWait, Order, QueuePatch};
use queuekit_core::{Backend, BackendExt, JobDraft, LeaseTtl, Reserve, WorkerId};
use queuekit_postgres::{PostgresConfig, PostgresStore, tokio_postgres};
use tokio_postgres::error::SqlState;

#[tokio::test]
async fn job_list_shows_jobs_of_every_state() {
    let Some(psql) = Psql::open("job_list").await else { return };
    let world = psql.world();
    let ends = ["completed", "dead", "cancelled", "running"];
    let mut wanted = BTreeMap::new();
    for end in ends {
        let lease = world.lease(carrying(format!("\"{end}\"")).partition_key(end)).await;
        wanted.insert(lease.id().to_string(), end);
        match end {
            "completed" => world.complete(&lease).await,
            "dead" => world.kill(&lease).await,
            "cancelled" => world.call_off(&lease).await,
            _ => {}
        }
    }
    wanted.insert(world.enqueue(carrying("\"pending\"")).await.to_string(), "pending");
    let rows = psql.sql(
        "SELECT id::text, state, payload, queue, kind, priority, created_at <= now(),
             finished_at IS NOT NULL, lease_expires_at IS NOT NULL, reason IS NOT NULL
         FROM queuekit.job_list",
    );
    let rows = psql.0.client.query(&rows, &[]).await.unwrap();
    assert_eq!(rows.len(), wanted.len());
    for row in rows {
        let state: &str = row.get(1);
        assert_eq!(wanted[row.get::<_, &str>(0)], state);
        assert_eq!(row.get::<_, &str>(2), format!("\"{state}\""));
        assert_eq!((row.get(3), row.get(4), row.get(5)), ("default", "work", 10));
        assert!(row.get::<_, bool>(6));
        let ended = ["completed", "dead", "cancelled"].contains(&state);
        assert_eq!(row.get::<_, bool>(7), ended, "{state}");
        assert_eq!(row.get::<_, bool>(8), state == "running");
        assert_eq!(row.get::<_, bool>(9), state == "dead");
    }
    let counts = "SELECT concat_ws(' ', queue, pending, running, completed, dead, cancelled)
                  FROM queuekit.queue_list";
    assert_eq!(psql.value(counts).await.unwrap().unwrap(), "default 1 1 1 1 1");
}

#[tokio::test]
async fn r12_statements_look_at_what_the_settings_say() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    let looked_at =
        "SELECT concat_ws(' ', paused_until > 0, max_pending, per_key, skips_waiting, holds_dead,
                         is_fair, dedup_window_ms)
                     FROM queuekit.queues";
    let looked_at = async || psql.value(looked_at).await.unwrap().unwrap();
    let day = DAY.as_millis();
    assert_eq!(looked_at().await, format!("f 1 f f f {day}"), "by default");
    psql.configure(QueuePatch::default()).await;
    assert_eq!(looked_at().await, format!("f 1 f f f {day}"), "when they are written");
    let patch = QueuePatch::default().paused(true).max_pending(7).per_key(9);
    let patch = patch.key_on_wait(KeyOnWait::Skip).key_on_dead(KeyOnDead::Hold).order(Order::Fair);
    let patch = patch.dedup_window(HOUR);
    psql.configure(patch).await;
    let hour = HOUR.as_millis();
    assert_eq!(looked_at().await, format!("t 7 9 t t t {hour}"));
}

#[tokio::test]
async fn no_payload_makes_a_view_fail() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    let huge = "x".repeat(1 << 20);
    let deep = "[".repeat(1 << 19) + &"]".repeat(1 << 19);
    let cases: [(&[u8], Option<&str>); 9] = [
        (b"{\"b\": 1,  \"b\": 2}", Some("{\"b\": 1,  \"b\": 2}")),
        (br#""\u0000""#, Some(r#""\u0000""#)),
        ("\"é\"".as_bytes(), Some("\"é\"")),
        (b"no JSON", Some("\\x6e6f204a534f4e")),
        (b"\xff\xfe", Some("\\xfffe")),
        (b"\"\0\"", Some("\\x220022")),
        (b"", Some("\\x")),
        (huge.as_bytes(), None),
        (deep.as_bytes(), None),
    ];
    for (payload, wanted) in cases {
        let job = JobDraft::new("work", payload.to_vec());
        let id = psql.world().enqueue(job).await;
        let shown = format!("SELECT payload FROM queuekit.job_list WHERE id = '{id}'");
        let shown = psql.value(&shown).await.unwrap().unwrap();
        match wanted {
            Some(wanted) => assert_eq!(shown, wanted),
            None => assert!(shown.starts_with("\\x") || shown == deep, "{:.20}", shown),
        }
    }
    let all = "SELECT count(payload)::text FROM queuekit.job_list";
    assert_eq!(psql.value(all).await.unwrap().unwrap(), "9");
}

/// A role of this test alone, gone at its end; roles are of the whole server.
struct Role(String);

impl Role {
    async fn new(psql: &Psql, name: &str, grants: &[&str]) -> Self {
        let role = Self(format!("{name}_{}", psql.0.name));
        psql.run(&format!("CREATE ROLE {0} LOGIN PASSWORD '{0}'", role.0)).await.unwrap();
        for grant in grants {
            let grant = grant.replace("SCHEMA queuekit", &format!("SCHEMA {}", psql.0.schema));
            psql.run(&format!("{grant} TO {}", role.0)).await.unwrap();
        }
        role
    }

    fn url(&self, psql: &Psql) -> String {
        let url = psql.0.url();
        let (_, rest) = url.split_once("//").unwrap();
        let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
        format!("postgres://{0}:{0}@{place}", self.0)
    }

    fn config(&self, psql: &Psql) -> PostgresConfig {
        let config = PostgresConfig::from_url(&self.url(psql)).unwrap();
        config.schema(psql.0.schema).unwrap().pool_size(2).allow_volatile(true)
    }

    async fn drop(self, psql: &Psql) {
        psql.run(&format!("DROP OWNED BY {0}; DROP ROLE {0}", self.0)).await.unwrap();
    }
}

async fn denied(client: &tokio_postgres::Client, sql: &str) {
    let error = client.batch_execute(sql).await.expect_err(sql);
    assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{sql}: {error}");
}

#[tokio::test]
async fn a_role_that_may_enqueue_can_do_nothing_else() {
    let Some(psql) = Psql::open("a_role_that_may_enqueue").await else { return };
    let grants =
        ["GRANT USAGE ON SCHEMA queuekit", "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA queuekit"];
    let role = Role::new(&psql, "producer", &grants).await;
    let as_role = client(&role.url(&psql)).await;
    for payload in ["'{}'", "'{}'::jsonb", "'\\x00'::bytea"] {
        let enqueue = format!("SELECT queuekit.enqueue('default', 'work', {payload})");
        as_role.batch_execute(&psql.sql(&enqueue)).await.unwrap();
    }
    assert_eq!(psql.world().reserve(9).await.len(), 3);
    for sql in [
        "SELECT * FROM queuekit.jobs",
        "SELECT * FROM queuekit.job_list",
        "SELECT queuekit.create_queue('mine')",
        "DELETE FROM queuekit.ready",
        "SELECT queuekit.event_add_day(0)",
    ] {
        denied(&as_role, &psql.sql(sql)).await;
    }
    role.drop(&psql).await;
}

/// The roles of deploy/postgres/roles.sql, with a schema of its own; made twice, as after an
/// upgrade.
#[tokio::test]
async fn each_role_of_the_file_does_its_work_and_is_refused_the_rest() {
    let Some(psql) = Psql::open("each_role_of_the_file").await else { return };
    let own = format!("{}_", psql.0.name);
    let roles = include_str!("../../../deploy/postgres/roles.sql");
    let schema = format!("SCHEMA {} ", psql.0.schema);
    let roles = roles.replace("queuekit_", &own).replace("SCHEMA queuekit ", &schema);
    for _ in 0..2 {
        psql.run(&roles).await.expect("the file runs");
    }
    let member = async |of: &str| {
        let role = Role::new(&psql, of, &[&format!("GRANT {own}{of}")]).await;
        let as_role = client(&role.url(&psql)).await;
        (role, as_role)
    };
    let may = async |client: &tokio_postgres::Client, can: &[&str], cannot: &[&str]| {
        for sql in can {
            client.batch_execute(&psql.sql(sql)).await.expect(sql);
        }
        for sql in cannot {
            denied(client, &psql.sql(sql)).await;
        }
    };
    let enqueue = "SELECT queuekit.enqueue('default', 'work', '{}')";
    let emits = r#"SELECT queuekit.emit('[{"type": "a"}]')"#;
    let holds = "SELECT queuekit.hold_subscriptions()";
    let opens = "SELECT queuekit.open_queue('event.mine', false)";
    let token = format!("default~00000000-0000-7000-8000-000000000000~1~{:032}", 0);
    let steps = &*format!("SELECT queuekit.checkpoint('{token}', 's')");
    let views = "SELECT * FROM queuekit.job_list; SELECT * FROM queuekit.queue_list";
    let reads = "SELECT * FROM queuekit.jobs";
    let makes = "SELECT queuekit.create_queue('mine')";
    let forgets = "DELETE FROM queuekit.migrations";
    let rewrites = "UPDATE queuekit.audit SET act = '{}'";
    let drops = "DROP TABLE queuekit.ready";
    let adds = "CREATE TABLE queuekit.mine ()";
    let replaces = "CREATE OR REPLACE FUNCTION queuekit.now_ms() RETURNS bigint
                    LANGUAGE sql RETURN 0::bigint";

    let (producer, as_producer) = member("enqueue").await;
    let rest = [views, reads, makes, opens, holds, forgets, drops, adds, replaces];
    may(&as_producer, &[enqueue, emits, steps], &rest).await;
    let (viewer, as_viewer) = member("look").await;
    let rest = [enqueue, emits, steps, reads, makes, opens, forgets, drops, adds, replaces];
    may(&as_viewer, &[views], &rest).await;
    let (worker, as_worker) = member("work").await;
    assert_eq!(psql.world().reserve(9).await.len(), 1, "what the producer stored");
    work(worker.config(&psql).migrate(false)).await.close().await.unwrap();
    may(&as_worker, &[reads], &[forgets, rewrites, drops, adds, replaces]).await;
    for role in [producer, viewer, worker] {
        role.drop(&psql).await;
    }
    for role in ["enqueue", "look", "work"] {
        Role(format!("{own}{role}")).drop(&psql).await;
    }
}

#[tokio::test]
async fn a_role_that_may_look_can_neither_enqueue_nor_read_tables() {
    let Some(psql) = Psql::open("a_role_that_may_look").await else { return };
    psql.id("'default', 'work', '{}'").await;
    let grants = [
        "GRANT USAGE ON SCHEMA queuekit",
        "GRANT SELECT ON queuekit.job_list, queuekit.queue_list",
    ];
    let role = Role::new(&psql, "viewer", &grants).await;
    let as_role = client(&role.url(&psql)).await;
    let payload = psql.sql("SELECT payload FROM queuekit.job_list");
    let shown: String = as_role.query_one(&payload, &[]).await.unwrap().get(0);
    assert_eq!(shown, "{}");
    as_role.batch_execute(&psql.sql("SELECT * FROM queuekit.queue_list")).await.unwrap();
    for sql in [
        "SELECT * FROM queuekit.running",
        "SELECT queuekit.enqueue('default', 'work', '{}')",
        "SELECT queuekit.create_queue('mine')",
    ] {
        denied(&as_role, &psql.sql(sql)).await;
    }
    role.drop(&psql).await;
}

/// Enqueues and completes a job.
async fn work(config: PostgresConfig) -> PostgresStore {
    let store = PostgresStore::connect(config).await.unwrap();
    store.enqueue(&[build(draft().queue("new").partition_key("a"))]).await.unwrap();
    store.enqueue_one(build(draft().idempotency_key("k"))).await.unwrap();
    let leases = store.reserve(&request(default_queue(), 9)).await.unwrap().leases;
    assert_eq!(leases.len(), 1);
    let ack = queuekit_core::Ack::new(leases[0].token.clone());
    assert!(store.ack_one(ack).await.unwrap());
    let ttl = LeaseTtl::new(Duration::from_secs(30)).unwrap();
    let new = queuekit_conformance::kit::queue("new");
    let request = Reserve::new(new, 1, ttl, WorkerId::new("w").unwrap()).unwrap();
    assert_eq!(store.reserve(&request).await.unwrap().leases.len(), 1);
    let upkeep = store.capabilities().upkeep.unwrap();
    upkeep.prune().await.unwrap();
    store
}

#[tokio::test]
async fn a_role_with_rights_on_tables_works_if_somebody_else_migrates() {
    let Some(psql) = Psql::open("a_role_with_rights_on_tables").await else { return };
    let grants = [
        "GRANT USAGE ON SCHEMA queuekit",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA queuekit",
        "GRANT USAGE ON ALL SEQUENCES IN SCHEMA queuekit",
    ];
    let role = Role::new(&psql, "worker", &grants).await;
    let store = work(role.config(&psql).migrate(false)).await;
    store.close().await.unwrap();
    role.drop(&psql).await;
}

#[tokio::test]
async fn a_member_of_the_owner_can_do_all_and_leaves_nothing_of_its_own() {
    let Some(psql) = Psql::open("a_member_of_the_owner").await else { return };
    let owner = Role::new(&psql, "owner", &[]).await;
    let member = Role::new(&psql, "member", &[&format!("GRANT {}", owner.0)]).await;
    let (name, schema) = (&psql.0.name, format!("{}_owned", psql.0.schema));
    psql.run(&format!("GRANT CREATE ON DATABASE {name} TO {}", owner.0)).await.unwrap();
    let config = |role: PostgresConfig| role.schema(&schema).unwrap();
    let first = PostgresStore::connect(config(owner.config(&psql))).await.unwrap();
    first.close().await.unwrap();
    let store = work(config(member.config(&psql))).await;
    let as_member = client(&member.url(&psql)).await;
    let later = format!("SELECT {schema}.event_add_day(4102444800000)");
    as_member.batch_execute(&later).await.unwrap();
    let owners = format!(
        "SELECT string_agg(DISTINCT tableowner, ',') FROM pg_tables WHERE schemaname = '{schema}'"
    );
    assert_eq!(psql.value(&owners).await.unwrap().unwrap(), owner.0);
    store.close().await.unwrap();
    member.drop(&psql).await;
    owner.drop(&psql).await;
}
