//! A directory and an environment for one test.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// An empty directory, and nothing in the environment.
pub(crate) struct Sandbox {
    directory: TempDir,
    environment: Vec<(String, String)>,
}

/// What a command answered.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A command that runs until it is stopped, or the test ends.
pub(crate) struct Running {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    stderr: BufReader<std::process::ChildStderr>,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), environment: Vec::new() }
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_queuekit"));
        command.args(args).current_dir(self.directory.path()).env_clear();
        command.envs(self.environment.iter().cloned()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    pub(crate) fn run_with_stdin(&self, args: &[&str], stdin: &str) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        Ran::of(child)
    }

    pub(crate) fn start(&self, args: &[&str]) -> Running {
        Self::running(self.command(args))
    }

    /// Starts it in a shell that has run this command first.
    pub(crate) fn start_after(&self, first: &str, args: &[&str]) -> Running {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &format!("{first}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_queuekit")]);
        shell.args(args).current_dir(self.directory.path()).env_clear();
        shell.envs(self.environment.iter().cloned()).stdin(Stdio::null());
        Self::running(shell)
    }

    fn running(mut command: Command) -> Running {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Running { child, stdout, stderr }
    }

    /// The store that commands use by default.
    pub(crate) async fn store(&self, file: &str) -> queuekit::Client {
        let url = format!("sqlite://{}", self.path(file).display());
        queuekit::connect(&url).await.unwrap()
    }
}

impl Ran {
    fn of(child: Child) -> Self {
        let output = child.wait_with_output().unwrap();
        let code = output.status.code().expect("it ended by itself");
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// It went well; answers stdout.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self.stdout
    }

    /// Stdout as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// It ended with this code, and said each of these on stderr.
    #[track_caller]
    pub(crate) fn failed(&self, code: i32, said: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        for text in said {
            assert!(self.stderr.contains(text), "{text:?} is not in {}", self.stderr);
        }
    }
}

impl Running {
    /// The next line of stdout: waits for it.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        if line.is_empty() {
            let mut said = String::new();
            self.stderr.read_to_string(&mut said).unwrap();
            panic!("it ended without a word on stdout: {said}");
        }
        line
    }

    /// The first line in which it says this on stderr: waits for it.
    pub(crate) fn says(&mut self, text: &str) -> String {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert_ne!(self.stderr.read_line(&mut line).unwrap(), 0, "it never said {text:?}");
        }
        line
    }

    pub(crate) fn signal(&self, signal: &str) {
        // Of every shell; a program of this name is not everywhere.
        let kill = format!("kill -s {signal} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }

    /// Its exit code, and what was left on stderr.
    pub(crate) fn ended(&mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, but for tests that failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
