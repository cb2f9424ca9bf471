//! `queuekit bench`.

use crate::common::Store;
use crate::sandbox::Sandbox;

#[test]
fn each_store_is_measured_and_left_as_it_was() {
    for kind in ["sqlite", "postgres", "redis"] {
        let Some(store) = Store::of(kind) else {
            eprintln!("SKIPPED: there is no {kind}");
            continue;
        };
        let sandbox = Sandbox::new().env("QUEUEKIT_URL", &store.url);
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
        assert!(report["verdict"][0].as_str().unwrap().starts_with("an Ok survives"), "{report}");
        assert_eq!(sandbox.run(&["queue", "list", "--json"]).ok(), "", "{kind}");
    }
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_is_stored() {
    let sandbox = Sandbox::new();
    sandbox.run(&["bench", "--payload-bytes", "2000000"]).failed(2, &["--payload-bytes"]);
    sandbox.run(&["bench", "--jobs", "0"]).failed(2, &["--jobs"]);
}
