//! The clients in other languages, against the real server on every store.

use std::path::Path;
use std::process::Command;

use crate::common::{Server, on_every_store};

on_every_store! {
    the_python_client_enqueues_and_works,
    the_node_client_enqueues_and_works,
}

fn the_python_client_enqueues_and_works(server: &mut Server) {
    let args = ["-B", "-m", "unittest", "test_server.ServerTest"];
    run(server, "python", "python3", if has_all(server) { &args[..3] } else { &args });
}

fn the_node_client_enqueues_and_works(server: &mut Server) {
    let args = ["--test", "--test-name-pattern=^server"];
    run(server, "node", "node", if has_all(server) { &args[..1] } else { &args });
}

/// What needs no server but a fake one is run once.
fn has_all(server: &Server) -> bool {
    server.store.url == "memory:"
}

/// Runs the client's own tests, those for a real server among them.
fn run(server: &Server, client: &str, program: &str, args: &[&str]) {
    let test = format!("the client in {client}");
    let Some(program) = queuekit_conformance::program(&test, program) else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients").join(client);
    let ran = Command::new(program)
        .args(args)
        .current_dir(folder)
        .env("QUEUEKIT_SERVER", &server.url)
        .output()
        .expect("it runs");
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{err}");
    assert!(!out.contains("NOT RUN") && !err.contains("NOT RUN"), "{out}\n{err}");
}
