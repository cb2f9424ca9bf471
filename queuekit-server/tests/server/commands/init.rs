//! `queuekit init`

use std::fs;

use crate::sandbox::Sandbox;

/// A sandbox with a clone of the repository, as far as the command looks.
fn with_clone() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("queuekit/queuekit")).unwrap();
    sandbox.write("queuekit/queuekit/Cargo.toml", "");
    sandbox
}

fn read(sandbox: &Sandbox, path: &str) -> String {
    fs::read_to_string(sandbox.path(path)).unwrap()
}

#[test]
fn an_application_depends_on_the_clone_beside_it_or_on_what_is_named() {
    let sandbox = with_clone();
    let told = sandbox.run(&["init", "shop"]).ok();
    assert!(told.contains("cd shop\n") && told.contains("cargo test"), "{told}");
    for path in
        ["Cargo.toml", "src/main.rs", "src/greet.rs", "README.md", ".gitignore", "queuekit.toml"]
    {
        assert!(told.contains(&format!("  {path}\n")), "{told}");
        assert!(!read(&sandbox, &format!("shop/{path}")).is_empty());
    }
    let manifest = read(&sandbox, "shop/Cargo.toml");
    let clone = r#"queuekit = { path = "../queuekit/queuekit", features = ["sqlite"] }"#;
    assert!(manifest.contains("name = \"shop\"") && manifest.contains(clone), "{manifest}");

    let url = "https://git.example.com/queuekit.git";
    sandbox.run(&["init", "apps/mail", "--store", "redis", "--git", url, "--name", "mailer"]).ok();
    let manifest = read(&sandbox, "apps/mail/Cargo.toml");
    let git = format!(r#"queuekit = {{ git = "{url}", features = ["redis"] }}"#);
    assert!(manifest.contains("name = \"mailer\"") && manifest.contains(&git), "{manifest}");
    for path in ["apps/mail/src/main.rs", "apps/mail/queuekit.toml"] {
        assert!(read(&sandbox, path).contains("redis://localhost"), "{path}");
    }

    let told = sandbox.run(&["init", "apps/web", "--path", "queuekit", "--json"]).ok();
    assert!(told.starts_with(r#"{"directory":"apps/web","written":["Cargo.toml","#), "{told}");
    let manifest = read(&sandbox, "apps/web/Cargo.toml");
    assert!(manifest.contains(r#"path = "../../queuekit/queuekit""#), "{manifest}");
}

#[test]
fn nothing_is_written_if_one_of_the_files_exists() {
    let sandbox = with_clone();
    fs::create_dir(sandbox.path("shop")).unwrap();
    sandbox.write("shop/README.md", "mine");
    sandbox
        .run(&["init", "shop"])
        .failed(1, &["shop/README.md exists already; nothing was written"]);
    let entries = fs::read_dir(sandbox.path("shop")).unwrap();
    assert_eq!(entries.count(), 1);
    assert_eq!(read(&sandbox, "shop/README.md"), "mine");
}

/// Guard: files behind a link would be written elsewhere.
#[cfg(unix)]
#[test]
fn s6_sources_are_not_written_behind_a_link_or_over_a_file() {
    let sandbox = with_clone();
    for directory in ["linked", "dangling", "filed", "elsewhere"] {
        fs::create_dir(sandbox.path(directory)).unwrap();
    }
    let link = std::os::unix::fs::symlink::<_, std::path::PathBuf>;
    link("../elsewhere", sandbox.path("linked/src")).unwrap();
    link("../nowhere", sandbox.path("dangling/src")).unwrap();
    sandbox.write("filed/src", "mine");
    for (directory, found) in
        [("linked", "a symbolic link"), ("dangling", "a symbolic link"), ("filed", "no directory")]
    {
        let told = format!("{directory}/src is {found}; remove it, or name another directory");
        sandbox.run(&["init", directory]).failed(1, &[&told, "nothing was written"]);
        assert_eq!(fs::read_dir(sandbox.path(directory)).unwrap().count(), 1, "{directory}");
    }
    assert_eq!(fs::read_dir(sandbox.path("elsewhere")).unwrap().count(), 0);
    assert!(!sandbox.path("nowhere").exists());
    // A link that the user names stands for the directory behind it.
    link("elsewhere", sandbox.path("named")).unwrap();
    sandbox.run(&["init", "named"]).ok();
    assert!(sandbox.path("elsewhere/src/main.rs").exists());
}

#[test]
fn what_is_missing_is_named() {
    let sandbox = Sandbox::new();
    sandbox.run(&["init", "shop"]).failed(2, &["not on crates.io yet", "--path", "--git"]);
    sandbox.run(&["init", "shop", "--path", "nowhere"]).failed(2, &["a clone", "got nowhere"]);
    let name = ["init", "2nd", "--git", "https://example.com"];
    sandbox.run(&name).failed(2, &["--name", "a letter comes first"]);
    sandbox.run(&["init", "--name", "tokio"]).failed(2, &["depends on a package named tokio"]);
    assert!(!sandbox.path("shop").exists() && !sandbox.path("2nd").exists());
}

/// A usual run compiles the sources as an example of this crate.
mod built {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    /// Guard: the dependencies in `Cargo.toml`, with their features.
    #[test]
    fn an_application_that_was_written_builds_and_its_tests_pass() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let sandbox = Sandbox::new();
        sandbox.run(&["init", "shop", "--path", root.to_str().unwrap()]).ok();
        // The versions of this workspace, which are downloaded.
        fs::copy(root.join("Cargo.lock"), sandbox.path("shop/Cargo.lock")).unwrap();
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("init");
        let mut cargo = Command::new("cargo");
        cargo.args(["test", "--offline", "--target-dir"]).arg(target);
        let output = cargo.current_dir(sandbox.path("shop")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let tested = String::from_utf8_lossy(&output.stdout);
        assert!(tested.contains("test result: ok. 2 passed"), "{tested}");
    }
}
