//! The cost of a call does not grow with the jobs it does not want (contract R5.9).
//!
//! The statements are those of the store, with the plans that its connections have.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use crate::common::store_fixture::Stage;
use queuekit_conformance::this_test;
use queuekit_integration_tests::crash::is_long;
use serde_json::Value;
use tokio_postgres::{Client, SimpleQueryMessage};

const CALLS: &str = include_str!("../../sql/postgres_scale_calls.sql");
const KEY_CALLS: &str = include_str!("../../sql/postgres_scale_key_calls.sql");
/// No call of some ten jobs touches more blocks than this, whatever is stored.
const BLOCKS: f64 = 1000.0;
/// Statements in which the planner cannot turn a look per row around, whatever it takes the tables
/// to hold.
const LOOKED_UP: &[&str] = &[
    "content",
    "enqueue",
    "enqueue_any",
    "extend",
    "key_holders",
    "keys_expire",
    "place",
    "place_due",
    "place_heads",
    "report",
    "reserve",
    "reserve_fair",
    "take_ready",
    "unplace",
];

/// A store, and a connection to its server on which its statements are prepared.
struct Scale {
    stage: Stage,
    client: Client,
}

/// A call, and what it came to.
struct Call {
    call: String,
    blocks: f64,
    plan: Value,
}

impl Scale {
    async fn open(test: &str) -> Option<Self> {
        let stage = Stage::open(test).await?;
        let client = stage.client().await;
        let scale = Self { stage, client };
        scale.run(&statement("plans")).await;
        // What is vacuumed meanwhile costs fewer blocks: no comparison is to depend on that.
        scale.run(include_str!("../../sql/postgres_plans_kept.sql")).await;
        scale.run(include_str!("../../sql/postgres_scale_ids.sql")).await;
        let calls = split(CALLS).chain(split(KEY_CALLS));
        let names = calls.map(|call| call.split_once(' ').expect("a name and parameters").0);
        for name in names.collect::<BTreeSet<_>>() {
            scale.run(&format!("PREPARE {name} AS {}", statement(name))).await;
        }
        Some(scale)
    }

    async fn run(&self, sql: &str) {
        self.client.batch_execute(sql).await.expect(sql);
    }

    /// Makes these calls one after the other, and undoes them.
    async fn calls(&self, calls: &str) -> Vec<Call> {
        let mut made = Vec::new();
        self.run("BEGIN").await;
        for call in split(calls) {
            let before = self.touched().await;
            let explain = format!("EXPLAIN (ANALYZE, COSTS OFF, FORMAT JSON) EXECUTE {call}");
            let answer = self.client.simple_query(&explain).await.expect(call);
            let blocks = self.touched().await - before;
            let row = answer.iter().find_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0),
                _ => None,
            });
            let explained: Value = serde_json::from_str(row.expect("a plan")).expect("JSON");
            let plan = explained[0]["Plan"].clone();
            made.push(Call { call: call.to_owned(), blocks, plan });
        }
        self.run("ROLLBACK").await;
        made
    }

    async fn touched(&self) -> f64 {
        let sql = include_str!("../../sql/postgres_scale_touched.sql");
        self.client.query_one(sql, &[]).await.expect("the server should answer the query").get(0)
    }
}

impl Call {
    fn statement(&self) -> &str {
        self.call.split(' ').next().unwrap_or_default()
    }

    /// That went from one node of the plan to the next, or were looked at there in vain.
    fn rows(&self) -> f64 {
        let rows = |node: &Value| {
            let number = |field: &str| node[field].as_f64().unwrap_or_default();
            let seen = number("Actual Rows")
                + number("Rows Removed by Filter")
                + number("Rows Removed by Join Filter")
                + number("Rows Removed by Index Recheck");
            seen * number("Actual Loops")
        };
        nodes(&self.plan).into_iter().map(rows).sum()
    }

    /// The tables that are read from end to end.
    fn scanned(&self) -> Vec<&str> {
        let scans = nodes(&self.plan).into_iter().filter(|node| node["Node Type"] == "Seq Scan");
        scans.filter_map(|node| node["Relation Name"].as_str()).collect()
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.call)?;
        for node in nodes(&self.plan) {
            let shown = ["Actual Rows", "Actual Loops", "Node Type", "Subplan Name", "Index Name"];
            writeln!(f, "{}", shown.map(|field| node[field].to_string()).join(" "))?;
        }
        Ok(())
    }
}

fn nodes(plan: &Value) -> Vec<&Value> {
    let below = plan["Plans"].as_array().into_iter().flatten().flat_map(nodes);
    std::iter::once(plan).chain(below).collect()
}

/// The calls of a script, without the word that each begins with.
fn split(calls: &str) -> impl Iterator<Item = &str> {
    let (_, calls) = calls.split_once("\nEXECUTE ").expect("a call");
    calls.split("\nEXECUTE ").map(|call| call.trim().trim_end_matches(';'))
}

/// A statement of the store, by the name of its file.
fn statement(name: &str) -> String {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
    let path = workspace.join(format!("queuekit-postgres/sql/{name}.sql"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// With many jobs no call costs more than a fixed multiple of its cost with few, and a little: a
/// plan may be made anew at any time, and then be another one.
async fn compare(times: f64, few: (&Scale, &str), many: (&Scale, &str)) {
    let mut dear = String::new();
    for when in ["by plans for empty tables", "by plans for these tables"] {
        let (at_few, at_many) = (few.0.calls(few.1).await, many.0.calls(many.1).await);
        for (few, many) in at_few.iter().zip(&at_many) {
            let (cost, scanned) = ([many.blocks, many.rows()], many.scanned());
            let most = [few.blocks, few.rows()].map(|cost| times * cost + 200.0);
            if cost[0] > most[0] || cost[1] > most[1] || !scanned.is_empty() {
                let what = format!("[blocks, rows] are {cost:?}, at most {most:?}");
                dear += &format!("{when}: {what}; scans of {scanned:?}\n{many}\n");
            }
        }
        few.0.run("VACUUM ANALYZE").await;
        many.0.run("VACUUM ANALYZE").await;
    }
    assert!(dear.is_empty(), "{dear}");
}

#[tokio::test]
async fn r5_9_no_call_costs_more_beside_a_million_jobs() {
    let test = this_test!();
    let Some(few) = Scale::open(test).await else { return };
    let Some(many) = Scale::open(test).await else { return };
    for (scale, jobs) in [(&few, 1000), (&many, if is_long() { 1_000_000 } else { 100_000 })] {
        // Connections make their plans while the tables are empty.
        scale.calls(CALLS).await;
        let fill = include_str!("../../sql/postgres_scale_fill.sql");
        scale.run(&fill.replace("{jobs}", &jobs.to_string())).await;
    }
    for call in few.calls(CALLS).await {
        assert!(call.blocks <= BLOCKS, "{} blocks\n{call}", call.blocks);
    }
    compare(2.0, (&few, CALLS), (&many, CALLS)).await;
    few.stage.end().await;
    many.stage.end().await;
}

#[tokio::test]
async fn r5_9_a_look_at_ten_times_as_many_partition_keys_costs_ten_times_as_much() {
    let test = this_test!();
    let Some(few) = Scale::open(test).await else { return };
    let Some(many) = Scale::open(test).await else { return };
    let calls = [1000, 10_000].map(|keys| KEY_CALLS.replace("{keys}", &keys.to_string()));
    for (scale, keys) in [(&few, "1000"), (&many, "10000")] {
        scale.run("VACUUM ANALYZE").await;
        scale.calls(&calls[0]).await;
        let fill = include_str!("../../sql/postgres_scale_keys.sql");
        scale.run(&fill.replace("{keys}", keys)).await;
    }
    // In trees that may be a level deeper; what is quadratic costs a hundred times as much.
    compare(20.0, (&few, &calls[0]), (&many, &calls[1])).await;
    few.stage.end().await;
    many.stage.end().await;
}

#[tokio::test]
async fn r5_9_looks_per_row_are_none_at_whole_tables_by_plans_for_vacuumed_ones() {
    let test = this_test!();
    let Some(scale) = Scale::open(test).await else { return };
    scale.run("VACUUM ANALYZE").await;
    scale.calls(CALLS).await;
    let fill = include_str!("../../sql/postgres_scale_fill.sql");
    scale.run(&fill.replace("{jobs}", "5000")).await;
    let made = scale.calls(CALLS).await;
    let looked_up = made.iter().filter(|call| LOOKED_UP.contains(&call.statement()));
    let mut dear = String::new();
    for call in looked_up.filter(|call| call.blocks > BLOCKS || call.rows() > BLOCKS) {
        dear += &format!("{} blocks, {} rows\n{call}\n", call.blocks, call.rows());
    }
    assert!(dear.is_empty(), "{dear}");
    scale.stage.end().await;
}
