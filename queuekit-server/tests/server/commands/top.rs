//! The dashboard in a real terminal: a pseudo-terminal of `script`.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use queuekit_conformance::skip;

use crate::commands::targets::{Place, in_every_place};
use crate::sandbox::Sandbox;

in_every_place! {
    each_tab_opens_and_q_gives_the_terminal_back,
    a_queue_is_paused_and_its_jobs_are_deleted,
}

/// What the terminal shows once the dashboard has left it.
const LEFT: &str = "\u{1b}[?1049l";

fn each_tab_opens_and_q_gives_the_terminal_back(place: &Place) {
    place.enqueue("greet --queue emails");
    let Some(mut top) = Screen::start(place, "each_tab_opens") else { return };
    top.waits_for("emails has 1 job ready and no worker");
    for (key, shows) in [
        ("2", "HEALTH"),
        ("3", "ENQUEUED"),
        ("\r", "no live worker serves queue emails"),
        ("4", "no errors"),
        ("5", "no workers"),
        ("?", "Actions ask before they change anything"),
    ] {
        top.press(key);
        top.waits_for(shows);
    }
    top.press("q");
    top.press("q");
    top.is_left(0);
}

fn a_queue_is_paused_and_its_jobs_are_deleted(place: &Place) {
    place.enqueue("greet --queue emails");
    let Some(mut top) = Screen::start(place, "a_queue_is_paused") else { return };
    top.press("2");
    top.waits_for("HEALTH");
    top.press("p");
    top.waits_for("Pause queue emails?");
    top.press("y");
    top.waits_for("queue emails is paused");
    assert_eq!(place.json("queue show emails")["settings"]["paused"], true);
    top.press("D");
    top.waits_for("Delete 1 job of queue emails?");
    top.press("y");
    top.waits_for("1 job deleted");
    assert!(place.lines("job list").is_empty());
    top.signal("TERM");
    top.is_left(0);
}

#[test]
fn ctrl_c_gives_the_terminal_back_and_a_server_that_is_away_is_said() {
    let sandbox = Sandbox::new();
    let args = ["top", "--server", "http://127.0.0.1:9"];
    let Some(mut top) = Screen::of(sandbox.command(&args), "ctrl_c") else { return };
    top.waits_for("no answer from http://127.0.0.1:9/");
    top.press("\u{3}");
    top.is_left(0);
}

#[test]
fn without_a_terminal_the_command_for_pipes_is_named() {
    let ran = Sandbox::new().run(&["top", "--url", "memory:"]);
    ran.failed(2, &["needs a terminal", "`queuekit stats`"]);
    let ran = Sandbox::new().run(&["top", "--url", "memory:", "--interval", "1ms"]);
    ran.failed(2, &["--interval must be at least 100ms"]);
    Sandbox::new().run(&["top", "--json"]).failed(2, &["`queuekit stats --json`"]);
}

/// A terminal of 80 columns and 24 rows in which the command runs.
struct Screen {
    script: Child,
    keys: ChildStdin,
    /// All that was written to the terminal.
    written: Arc<Mutex<String>>,
    _directory: tempfile::TempDir,
    pid_file: std::path::PathBuf,
}

impl Screen {
    fn start(place: &Place, case: &str) -> Option<Self> {
        Self::of(place.command("top --interval 100ms"), case)
    }

    /// Reports loudly that there is no such program, if so.
    fn of(command: Command, case: &str) -> Option<Self> {
        let version = Command::new("script").arg("--version").output();
        let is_known =
            version.is_ok_and(|told| told.stdout.windows(10).any(|w| w == b"util-linux"));
        if !is_known {
            skip(case, "`script` of util-linux is not installed");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let pid_file = directory.path().join("pid");
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<String> = words.map(|word| word.to_str().unwrap().to_owned()).collect();
        // The shell outlives the command and shows how it has left the terminal.
        let inner = format!("echo \\$\\$ > '{}'; exec {}", pid_file.display(), words.join(" "));
        let shell = format!(
            "stty rows 24 cols 80; sh -c \"{inner}\"; echo \"ended with $?\"; stty -a; echo over"
        );
        let mut script = Command::new("script");
        script.args(["-q", "-e", "-c", &shell, "/dev/null"]).env_clear();
        for (name, value) in command.get_envs() {
            script.env(name, value.unwrap());
        }
        script.env("PATH", std::env::var_os("PATH").unwrap()).env("TERM", "xterm");
        script.current_dir(command.get_current_dir().unwrap());
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut script = script.spawn().unwrap();
        let (keys, mut output) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
        let written = Arc::new(Mutex::new(String::new()));
        let writing = Arc::clone(&written);
        std::thread::spawn(move || {
            let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
            while let Ok(length @ 1..) = output.read(&mut part) {
                bytes.extend(&part[..length]);
                *writing.lock().unwrap() = String::from_utf8_lossy(&bytes).into_owned();
            }
        });
        let _directory = directory;
        Some(Self { script, keys, written, _directory, pid_file })
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits until the screen shows this text.
    #[track_caller]
    fn waits_for(&mut self, text: &str) {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let shown = shown(&self.written.lock().unwrap());
            if shown.contains(text) {
                return;
            }
            assert!(Instant::now() < end, "{text:?} is never shown:\n{shown}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn signal(&self, signal: &str) {
        let pid = std::fs::read_to_string(&self.pid_file).unwrap();
        let kill = format!("kill -s {signal} {pid}");
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }

    /// It has ended with this code, and the terminal is as it was.
    #[track_caller]
    fn is_left(&mut self, code: i32) {
        let end = Instant::now() + Duration::from_secs(20);
        let written = loop {
            let written = self.written.lock().unwrap().clone();
            if written.contains("over\r\n") {
                break written;
            }
            assert!(Instant::now() < end, "it does not end:\n{}", shown(&written));
            std::thread::sleep(Duration::from_millis(10));
        };
        let (_, after) = written.rsplit_once(LEFT).expect("it leaves the other screen");
        assert!(after.contains("\u{1b}[?25h"), "the cursor is shown: {after:?}");
        assert!(after.contains(&format!("ended with {code}")), "{after}");
        for mode in ["icanon", "echo", "isig", "opost"] {
            let is_on = after.split([' ', ';', '\r', '\n']).any(|word| word == mode);
            assert!(is_on, "{mode} is off: {after}");
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

/// What a terminal shows to which this was written.
fn shown(written: &str) -> String {
    let mut rows = vec![vec![' '; 80]; 24];
    let (mut row, mut column) = (0, 0);
    let mut letters = written.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' => column = 0,
            '\n' => row += 1,
            '\u{1b}' if letters.as_str().starts_with('[') => {
                let mut parameters = String::new();
                let order = letters.by_ref().skip(1).find(|letter| {
                    let ends = letter.is_ascii_alphabetic();
                    parameters.extend((!ends).then_some(*letter));
                    ends
                });
                let mut numbers = parameters.split(';').map(|number| number.parse().unwrap_or(1));
                match order {
                    Some('H') => {
                        row = numbers.next().unwrap_or(1) - 1;
                        column = numbers.next().unwrap_or(1) - 1;
                    }
                    Some('J') => rows.iter_mut().for_each(|row| row.fill(' ')),
                    _ => {}
                }
            }
            letter => {
                if let Some(cell) =
                    rows.get_mut(row).and_then(|row: &mut Vec<char>| row.get_mut(column))
                {
                    *cell = letter;
                }
                column += 1;
            }
        }
    }
    rows.iter().map(|row| row.iter().collect::<String>() + "\n").collect()
}
