//! Where commands are tried: a store that they open, or a server that they ask.

use queuekit_conformance::skip;

use crate::common::{Server, Store};
use crate::sandbox::{Ran, Running, Sandbox};

/// A directory whose environment names a store or a server.
pub(crate) struct Place {
    sandbox: Sandbox,
    /// URL of the store behind it, for checks that need the store itself.
    pub(crate) url: String,
    _server: Option<Server>,
    _store: Option<Store>,
}

/// Runs a case there, or reports loudly that the store is missing.
pub(crate) fn at(kind: &str, case: &str, run: fn(&Place)) {
    let Some(store) = Store::of(if kind == "server" { "sqlite" } else { kind }) else {
        return skip(case, &format!("there is no {kind}"));
    };
    let url = store.url.clone();
    let (sandbox, server, store) = match kind {
        "server" => {
            let server = Server::start(store, &[]);
            (Sandbox::new().env("QUEUEKIT_SERVER", &server.url), Some(server), None)
        }
        _ => (Sandbox::new().env("QUEUEKIT_URL", &url), None, Some(store)),
    };
    // Who only looks makes no store.
    Sandbox::new().run(&["migrate", "up", "--url", &url]).ok();
    run(&Place { sandbox, url, _server: server, _store: store });
}

impl Place {
    /// Runs a command whose arguments have no spaces.
    pub(crate) fn run(&self, command: &str) -> Ran {
        self.args(&command.split(' ').collect::<Vec<_>>())
    }

    pub(crate) fn args(&self, args: &[&str]) -> Ran {
        self.sandbox.run(args)
    }

    /// Writes a file into the directory.
    pub(crate) fn write(&self, name: &str, text: &str) {
        self.sandbox.write(name, text);
    }

    /// A command that is not started yet.
    pub(crate) fn command(&self, command: &str) -> std::process::Command {
        self.sandbox.command(&command.split(' ').collect::<Vec<_>>())
    }

    pub(crate) fn start(&self, command: &str) -> Running {
        self.sandbox.start(&command.split(' ').collect::<Vec<_>>())
    }

    /// Each line of the answer, as JSON.
    #[track_caller]
    pub(crate) fn lines(&self, command: &str) -> Vec<serde_json::Value> {
        let told = self.run(&format!("{command} --json")).ok();
        told.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The only line.
    #[track_caller]
    pub(crate) fn json(&self, command: &str) -> serde_json::Value {
        let mut lines = self.lines(command);
        assert_eq!(lines.len(), 1, "{lines:?}");
        lines.remove(0)
    }

    /// Works until nothing is left.
    #[track_caller]
    pub(crate) fn work(&self) {
        self.args(&["work", "--until-idle", "--url", &self.url]).ok();
    }

    /// Stores a job; answers its id.
    #[track_caller]
    pub(crate) fn enqueue(&self, arguments: &str) -> String {
        self.run(&format!("enqueue {arguments}")).ok().trim().to_owned()
    }
}

/// Each of these cases as a test of its own in each place. Commands are written for any store, and
/// conformance tests each store: those over Postgres and Redis are for long runs, and `LONG` of
/// xtask names their module.
macro_rules! in_every_place {
    ($($case:ident),* $(,)?) => {
        in_every_place! { @ sqlite "sqlite" $($case)* }
        in_every_place! { @ server "server" $($case)* }
        mod over_other_stores {
            use $crate::commands::targets::in_every_place;
            $(use super::$case;)*
            in_every_place! { @ postgres "postgres" $($case)* }
            in_every_place! { @ redis "redis" $($case)* }
        }
    };
    (@ $module:ident $kind:literal $($case:ident)*) => {
        mod $module {
            $(
                #[test]
                fn $case() {
                    $crate::commands::targets::at($kind, stringify!($case), super::$case);
                }
            )*
        }
    };
}

pub(crate) use in_every_place;
