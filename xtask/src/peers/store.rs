use crate::error::{Error, Result};

/// What our store and the peers beside it keep their jobs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Sqlite,
    Postgres,
}

impl Store {
    pub(crate) fn parse(name: &str) -> Result<Self> {
        match name {
            "sqlite" => Ok(Self::Sqlite),
            "postgres" => Ok(Self::Postgres),
            _ => Err(Error::Usage(format!("peers: `{name}` is no store; sqlite and postgres are"))),
        }
    }

    /// What every program measures, see `benches/peers/directory.rs` and `database.rs`.
    pub(crate) fn measured(self) -> &'static [&'static str] {
        match self {
            Self::Sqlite => &["drain", "enqueue64", "enqueue1", "bulk"],
            Self::Postgres => &["drain", "enqueue8", "enqueue16", "bulk", "idle"],
        }
    }

    /// Our program, a binary of `queuekit-benches`.
    pub(crate) fn ours(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite_peer",
            Self::Postgres => "postgres_peer",
        }
    }

    /// Other queues. Each is a package outside of the workspace: two crates that link SQLite
    /// cannot be built together, and nobody who works on this project should have to build them.
    pub(crate) fn peers(self) -> &'static [&'static str] {
        match self {
            Self::Sqlite => &["riverqueue", "effectum"],
            Self::Postgres => &["riverqueue_postgres", "graphile_worker"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    const STORES: [Store; 2] = [Store::Sqlite, Store::Postgres];

    #[test]
    fn every_peer_has_a_package_that_the_workspace_leaves_out() {
        let workspace = Workspace::load().unwrap();
        for peer in STORES.iter().flat_map(|store| store.peers()) {
            let package = workspace.root.join("benches/peers").join(peer);
            assert!(package.join("Cargo.toml").exists(), "{peer}");
            assert!(package.join("Cargo.lock").exists(), "{peer}");
            assert!(workspace.find(&format!("queuekit-peer-{peer}")).is_err(), "{peer}");
        }
    }

    #[test]
    fn a_program_of_ours_that_is_named_is_there() {
        let root = Workspace::load().unwrap().root;
        for ours in STORES.iter().map(|store| store.ours()) {
            assert!(root.join(format!("benches/src/bin/{ours}.rs")).exists(), "{ours}");
        }
    }

    #[test]
    fn the_programs_measure_the_same_under_the_same_names() {
        let root = Workspace::load().unwrap().root;
        for (store, file) in STORES.iter().zip(["directory.rs", "database.rs"]) {
            let text = std::fs::read_to_string(root.join("benches/peers").join(file)).unwrap();
            for what in store.measured() {
                assert!(text.contains(&format!("(\"{what}\", ")), "{file}: {what}");
            }
        }
    }
}
