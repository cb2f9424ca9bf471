//! Checks the query plan of each statement on the migrated schema: a statement that reads more rows
//! than it answers makes a queue slow only once the queue is long.

use rusqlite::{Connection, params_from_iter};

use crate::schema;
use crate::statements::ALL;

/// Statements that may read a whole table, and why.
const SCANS: &[(&str, &str)] = &[
    ("tables", "the schema"),
    ("migration_version", "a row per migration"),
    ("cancels", "the index of running jobs that were asked to stop, at most 1,000"),
    ("queue_count", "counts all queues; once for each new queue"),
    ("event_last", "ends with the first row it meets, which is the last"),
    ("event_count", "counts the log in an index; only where it may be longer than its retention"),
    ("history_changed", "a row per queue, at most 10,000; once a minute"),
    ("history_pair_seen", "likewise a pair of queue and kind; once for each that is added"),
    ("history_pairs_forget", "a row per pair, at most 1,000"),
    ("schedule_count", "counts all schedules, at most 10,000; once for each that is made"),
    ("workers_forget", "a row per worker, at most 10,000; once for each that is new"),
    ("worker_count", "likewise"),
];

/// Statements that sort, and what bounds the rows they sort.
const SORTS: &[(&str, &str)] = &[
    ("lane_frontier", "the free leases of a key, and 10,000"),
    ("list_leased", "the jobs whose leases run out at one millisecond"),
    ("error_groups_trim", "the error groups of a queue, 500 and those of a step; once it has more"),
    ("schedules_due", "the names of schedules that are due at one instant, at most 10,000"),
];

#[test]
fn r11_2_every_statement_is_valid_on_the_migrated_schema() {
    let conn = migrated();
    for (name, sql) in ALL {
        let prepared = conn.prepare(sql);
        assert!(prepared.is_ok(), "{name}: {prepared:?}");
    }
}

#[test]
fn r5_9_no_statement_looks_at_all_jobs_or_sorts_without_bound() {
    let conn = migrated();
    for (name, sql) in ALL {
        let plan = plan(&conn, sql);
        let is = |list: &[(&str, &str)]| list.iter().any(|(listed, _)| listed == name);
        // A scan of rows that another step of the plan has bounded, or of none.
        let scans = |line: &&String| {
            line.starts_with("SCAN ")
                && !line.starts_with("SCAN (subquery-")
                && *line != "SCAN CONSTANT ROW"
        };
        assert_eq!(plan.iter().any(|line| scans(&line)), is(SCANS), "{name} scans: {plan:#?}");
        let sorts = |line: &String| line.contains("TEMP B-TREE");
        assert_eq!(plan.iter().any(sorts), is(SORTS), "{name} sorts: {plan:#?}");
        let builds = |line: &String| line.contains("AUTOMATIC");
        assert!(!plan.iter().any(builds), "{name} builds an index: {plan:#?}");
    }
}

#[test]
fn r5_9_every_statement_uses_the_indexes_its_header_names() {
    let conn = migrated();
    for (name, sql) in ALL {
        let plan = plan(&conn, sql);
        // SQLite shows no plan for an insert.
        if plan.is_empty() {
            continue;
        }
        for (index, covers) in indexes(sql) {
            let uses = |line: &&String| line.contains(&index);
            let used: Vec<&String> = plan.iter().filter(uses).collect();
            assert!(!used.is_empty(), "{name} does not use `{index}`: {plan:#?}");
            // A table without row ids is its own index.
            let covers_all =
                |line: &&String| line.contains("COVERING") || line.contains("USING PRIMARY KEY");
            let covered = used.iter().all(covers_all);
            assert!(covered || !covers, "{name}: `{index}` does not cover: {plan:#?}");
        }
        let named = indexes(sql);
        for line in plan.iter().filter(|line| line.starts_with("SEARCH queuekit_")) {
            let is_named = named.iter().any(|(index, _)| line.contains(index));
            assert!(is_named, "{name}: its header does not name what it uses: {line}");
        }
    }
}

fn migrated() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    schema::up(&conn, 0).unwrap();
    conn
}

fn plan(conn: &Connection, sql: &str) -> Vec<String> {
    let mut explain = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let values = vec![None::<i64>; explain.parameter_count()];
    let lines = explain.query_map(params_from_iter(values), |row| row.get("detail"));
    lines.unwrap().map(Result::unwrap).collect()
}

/// The indexes in a header's `Index:`, in the words of a plan, and whether each is covering.
fn indexes(sql: &str) -> Vec<(String, bool)> {
    let header = sql.lines().map_while(|line| line.strip_prefix("-- "));
    let from_index = header.skip_while(|line| !line.starts_with("Index:"));
    let is_other = |line: &&str| line.starts_with("Locks:") || line.starts_with("Result:");
    let text = from_index.take_while(|line| !is_other(line)).collect::<Vec<_>>().join(" ");
    let mut indexes: Vec<(String, bool)> = Vec::new();
    for part in text.trim_start_matches("Index:").split([',', ';', '.']).map(str::trim) {
        let name = part.split_whitespace().find(|word| word.starts_with("queuekit_"));
        match (part, name) {
            ("covering", _) => indexes.last_mut().unwrap().1 = true,
            (_, Some(name)) => indexes.push((name.to_owned(), false)),
            ("the primary key" | "the primary keys", _) => {
                indexes.push(("PRIMARY KEY".to_owned(), false));
            }
            _ if part.starts_with("the unique index") => {
                indexes.push(("sqlite_autoindex_queuekit_".to_owned(), false));
            }
            _ => {}
        }
    }
    indexes
}
