//! What is made of the command line itself.

use crate::sandbox::Sandbox;

#[test]
fn completions_are_made_for_each_shell() {
    for (shell, has) in [
        ("bash", "complete -F _queuekit"),
        ("zsh", "#compdef queuekit"),
        ("fish", "complete -c queuekit"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion"),
    ] {
        let script = Sandbox::new().run(&["completions", shell]).ok();
        assert!(script.contains(has) && script.contains("subscription"), "{shell}");
    }
    Sandbox::new().run(&["completions", "tcsh"]).failed(2, &["possible values: bash"]);
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let sandbox = Sandbox::new();
    let told = sandbox.run(&["man", "pages/man1"]).ok();
    for page in ["queuekit.1", "queuekit-job.1", "queuekit-job-list.1", "queuekit-bench.1"] {
        assert!(told.lines().any(|line| line.ends_with(page)), "{page}: {told}");
    }
    let page = std::fs::read_to_string(sandbox.path("pages/man1/queuekit-job-list.1")).unwrap();
    assert!(page.contains("status:dead") && page.contains(".SH SYNOPSIS"), "{page}");
    let listed = sandbox.run(&["man", "pages/man1", "--json"]).ok();
    assert_eq!(listed.lines().count(), told.lines().count());
    assert!(listed.starts_with("{\"page\":\"pages/man1/queuekit.1\"}\n"), "{listed}");
    sandbox.write("file", "");
    sandbox.run(&["man", "file"]).failed(1, &["file cannot be written to"]);
}

/// Guard: a link in the directory chose which file was overwritten.
#[cfg(unix)]
#[test]
fn a_manual_page_is_not_written_through_a_link() {
    let sandbox = Sandbox::new();
    sandbox.write("other", "kept");
    std::fs::create_dir(sandbox.path("pages")).unwrap();
    std::os::unix::fs::symlink(sandbox.path("other"), sandbox.path("pages/queuekit-job.1"))
        .unwrap();
    sandbox.run(&["man", "pages"]).failed(1, &["queuekit-job.1 is a symbolic link"]);
    assert_eq!(std::fs::read_to_string(sandbox.path("other")).unwrap(), "kept");
}

#[test]
fn output_that_no_terminal_reads_has_no_colours() {
    let sandbox = Sandbox::new().env("QUEUEKIT_URL", "sqlite://a.db");
    sandbox.run(&["enqueue", "x"]).ok();
    let table = sandbox.run(&["job", "list"]).ok();
    assert!(!table.contains('\u{1b}'), "{table:?}");
}
