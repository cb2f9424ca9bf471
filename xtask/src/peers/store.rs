use crate::error::{Error, Result};

/// What our store and the peers beside it keep their jobs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Sqlite,
    /// Ours alone.
    Memory,
    Postgres,
    Redis,
}

/// What only our program measures, because the peers have nothing like it.
#[derive(Debug)]
pub(crate) struct Alone {
    pub(crate) name: &'static str,
    /// As the program knows it ..
    pub(crate) what: &'static str,
    /// .. and what is different.
    pub(crate) settings: &'static [&'static str],
}

impl Store {
    pub(crate) fn parse(name: &str) -> Result<Self> {
        match name {
            "sqlite" => Ok(Self::Sqlite),
            "memory" => Ok(Self::Memory),
            "postgres" => Ok(Self::Postgres),
            "redis" => Ok(Self::Redis),
            _ => Err(Error::Usage(format!(
                "peers: `{name}` is no store; sqlite, memory, postgres and redis are"
            ))),
        }
    }

    /// What every program measures, see `benches/peers/directory.rs`, `database.rs` and
    /// `redis_server.rs`.
    pub(crate) fn measured(self) -> &'static [&'static str] {
        match self {
            Self::Sqlite | Self::Memory => &["drain", "enqueue64", "enqueue1", "bulk"],
            Self::Postgres => &["drain", "enqueue8", "enqueue16", "bulk", "idle"],
            Self::Redis => &["drain", "enqueue64", "enqueue16", "bulk", "idle"],
        }
    }

    pub(crate) fn alone(self) -> &'static [Alone] {
        match self {
            Self::Sqlite | Self::Memory | Self::Postgres => &[],
            Self::Redis => &[
                Alone { name: "drain-keyed", what: "drain", settings: &["keys=10000"] },
                Alone { name: "drain-fair", what: "drain", settings: &["keys=10000", "fair=true"] },
            ],
        }
    }

    /// Our program, a binary of `queuekit-benches`.
    pub(crate) fn ours(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite_peer",
            Self::Memory => "memory_peer",
            Self::Postgres => "postgres_peer",
            Self::Redis => "redis_peer",
        }
    }

    /// Other queues. Each is a package outside of the workspace: two crates that link SQLite
    /// cannot be built together, and nobody who works on this project should have to build them.
    pub(crate) fn peers(self) -> &'static [&'static str] {
        match self {
            Self::Sqlite => &["riverqueue", "effectum"],
            Self::Memory => &[],
            Self::Postgres => &["riverqueue_postgres", "graphile_worker"],
            Self::Redis => &["bullmq"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    const STORES: [Store; 4] = [Store::Sqlite, Store::Memory, Store::Postgres, Store::Redis];

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
        let files = ["directory.rs", "directory.rs", "database.rs", "redis_server.rs"];
        for (store, file) in STORES.iter().zip(files) {
            let text = std::fs::read_to_string(root.join("benches/peers").join(file)).unwrap();
            for what in store.measured() {
                assert!(text.contains(&format!("(\"{what}\", ")), "{file}: {what}");
            }
        }
    }

    #[test]
    fn what_only_ours_measures_has_a_name_of_its_own() {
        for store in STORES {
            for alone in store.alone() {
                assert!(store.measured().contains(&alone.what), "{alone:?}");
                assert!(!store.measured().contains(&alone.name), "{alone:?}");
            }
        }
    }
}
