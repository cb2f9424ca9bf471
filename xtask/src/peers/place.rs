use std::path::Path;

use crate::error::Result;
use crate::peers::Options;
use crate::peers::database::Database;
use crate::peers::postgres::Postgres;
use crate::peers::redis::Redis;
use crate::peers::server::Server;
use crate::peers::store::Store;

/// Where all measurements are.
#[derive(Debug)]
pub(crate) enum Place {
    /// The programs make themselves what they need in it.
    Directory(String),
    Server {
        programs: Postgres,
        url: String,
        /// Stopped together with the place. None if another program runs it.
        _own: Option<Server>,
    },
    /// A Redis server that already runs; each program has its own prefix in it.
    Shared(String),
    /// A Redis server is started for each measurement, so that none meets another's data.
    Redis,
}

/// Where one measurement is, until it is dropped.
#[derive(Debug)]
pub(crate) enum Fresh<'a> {
    Directory(&'a str),
    Database(Database<'a>),
    Shared(&'a str),
    Redis(Redis),
}

impl Place {
    pub(crate) fn prepare(options: &Options, target_directory: &Path) -> Result<Self> {
        match (options.store, &options.directory) {
            (Store::Sqlite | Store::Memory, Some(directory)) => {
                Ok(Self::Directory(directory.clone()))
            }
            (Store::Sqlite | Store::Memory, None) => {
                // On a disk, which the system's directory for such files need not be.
                let directory = target_directory.join("peers/data");
                Ok(Self::Directory(directory.to_string_lossy().into_owned()))
            }
            (Store::Postgres, _) => {
                let programs = Postgres::find();
                let (url, _own) = match &options.url {
                    Some(url) => (url.clone(), None),
                    None => {
                        let server = Server::start(&programs)?;
                        (server.url(), Some(server))
                    }
                };
                Ok(Self::Server { programs, url, _own })
            }
            (Store::Redis, _) => Ok(options.url.clone().map_or(Self::Redis, Self::Shared)),
        }
    }

    pub(crate) fn fresh(&self) -> Result<Fresh<'_>> {
        match self {
            Self::Directory(directory) => Ok(Fresh::Directory(directory)),
            Self::Server { programs, url, .. } => {
                Database::create(programs, url).map(Fresh::Database)
            }
            Self::Shared(url) => Ok(Fresh::Shared(url)),
            Self::Redis => Redis::start().map(Fresh::Redis),
        }
    }
}

impl Fresh<'_> {
    /// The arguments by which the programs get it.
    pub(crate) fn args(&self) -> [&str; 2] {
        match self {
            Self::Directory(directory) => ["--dir", directory],
            Self::Database(database) => ["--url", database.url()],
            Self::Shared(url) => ["--url", url],
            Self::Redis(server) => ["--url", server.url()],
        }
    }
}
