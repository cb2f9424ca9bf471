//! A running `queuekit serve`.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{Ask, Store};

/// The process, its store, and where it listens. It is killed when the test ends.
pub struct Server {
    pub url: String,
    pub store: Store,
    child: Child,
    args: Vec<String>,
    logs: Logs,
}

/// What it has written to stderr, by line.
type Logs = Arc<Mutex<Vec<String>>>;

impl Server {
    /// Starts it over this store, with these arguments, on a free port.
    pub fn start(store: Store, args: &[&str]) -> Self {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let logs = Logs::default();
        let (child, url) = spawn(&store, &args, &logs);
        Self { url, store, child, args, logs }
    }

    /// The first line of its log with all of these words, which may be yet to come.
    #[track_caller]
    pub fn logged(&self, words: &[&str]) -> String {
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            let lines = self.logs.lock().expect("its log").clone();
            let has_all = |line: &&String| words.iter().all(|word| line.contains(word));
            if let Some(line) = lines.iter().find(has_all) {
                return line.clone();
            }
            assert!(Instant::now() < end, "no line has {words:?}: {lines:#?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Asks it without a key.
    pub fn ask(&self, method: &str, path: &str) -> Ask {
        Ask::new(method, format!("{}{path}", self.url))
    }

    pub fn get(&self, path: &str) -> Ask {
        self.ask("GET", path)
    }

    /// What stands in `Host`.
    pub fn address(&self) -> &str {
        self.url.rsplit('/').next().expect("an address")
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it as a failure of power would, and starts it again.
    pub fn kill_and_restart(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
        (self.child, self.url) = spawn(&self.store, &self.args, &self.logs);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The binary, with no settings but the test's own.
pub fn command(store: &Store) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_queuekit"));
    command.current_dir(store.directory.path()).env_clear();
    for name in ["PATH", "TMPDIR", "SYSTEMROOT"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command
}

fn spawn(store: &Store, args: &[String], logs: &Logs) -> (Child, String) {
    let mut command = command(store);
    command.args(["serve", "--json", "--url", &store.url, "--listen", "127.0.0.1:0"]);
    let mut child = command
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("its output"));
    stdout.read_line(&mut line).expect("a line");
    let told: Option<serde_json::Value> = serde_json::from_str(&line).ok();
    let mut stderr = child.stderr.take().expect("its errors");
    let Some(url) = told.and_then(|told| told["url"].as_str().map(str::to_owned)) else {
        let mut errors = String::new();
        let _ = stderr.read_to_string(&mut errors);
        panic!("the server did not start: {line}{errors}");
    };
    // A pipe that nobody reads would hold it up.
    let logs = Arc::clone(logs);
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if std::env::var_os("QUEUEKIT_TEST_LOGS").is_some() {
                eprintln!("{line}");
            }
            logs.lock().expect("its log").push(line);
        }
    });
    (child, url)
}
