//! `queuekit bench`.

use queuekit_conformance::{skip, this_test};

use crate::common::Store;
use crate::sandbox::Sandbox;

#[test]
fn each_store_is_measured_and_left_as_it_was() {
    for kind in ["sqlite", "postgres", "redis"] {
        let Some(store) = Store::of(kind) else {
            skip(this_test!(), &format!("there is no {kind}"));
            continue;
        };
        let sandbox = Sandbox::new().env("QUEUEKIT_URL", &store.url);
        sandbox.run(&["migrate", "up"]).ok();
        let report = sandbox.run(&["bench", "--jobs", "100", "--json"]).json();
        let figures = report["figures"].as_array().unwrap();
        let names: Vec<_> = figures.iter().map(|figure| figure["name"].as_str().unwrap()).collect();
        assert_eq!(
            names,
            [
                "enqueue, one caller",
                "enqueue, many callers",
                "enqueue, in batches",
                "work, 100 slots",
                "pickup by an idle worker",
            ]
        );
        assert_eq!(figures[3]["jobs"], 205, "{kind}: all of them are worked");
        let verdict = report["verdict"][0].as_str().unwrap();
        assert!(verdict.starts_with("a successful call survives"), "{report}");
        assert_eq!(sandbox.run(&["queue", "list", "--json"]).ok(), "", "{kind}");
    }
}

#[test]
fn a_bench_that_is_told_to_end_leaves_no_queue() {
    for kind in ["sqlite", "postgres", "redis"] {
        let Some(store) = Store::of(kind) else {
            skip(this_test!(), &format!("there is no {kind}"));
            continue;
        };
        let sandbox = Sandbox::new().env("QUEUEKIT_URL", &store.url);
        sandbox.run(&["migrate", "up"]).ok();
        sandbox.run(&["migrate", "up"]).ok();
        for signal in ["TERM", "INT"] {
            let mut bench = sandbox.start(&["bench", "--jobs", "1000000"]);
            while sandbox.run(&["queue", "list", "--json"]).ok().is_empty() {}
            bench.signal(signal);
            let (code, said) = bench.ended();
            assert!(code == Some(1) && said.contains("interrupted"), "{kind}: {code:?} {said}");
            assert_eq!(sandbox.run(&["queue", "list", "--json"]).ok(), "", "{kind}");
        }
    }
}

#[test]
fn a_store_in_memory_is_said_to_end_with_the_process() {
    let report = Sandbox::new().run(&["bench", "--url", "memory:", "--jobs", "20", "--json"]);
    let verdict = report.json()["verdict"][0].to_string();
    assert!(verdict.contains("nothing") && verdict.contains("memory:, this"), "{verdict}");
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_is_stored() {
    let sandbox = Sandbox::new();
    sandbox.run(&["bench", "--payload-bytes", "2000000"]).failed(2, &["--payload-bytes"]);
    sandbox.run(&["bench", "--jobs", "0"]).failed(2, &["--jobs"]);
}
