//! What a server has stored, asked by others than queuekit.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use queuekit::postgres::tokio_postgres::{Client, NoTls, SimpleQueryMessage, connect};
use tokio::runtime::Runtime;

use crate::common::Store;

/// A database of Postgres, the keys of a prefix in Redis, or a file of SQLite.
pub(crate) enum Inside {
    File(PathBuf),
    Postgres(Runtime, Client),
    Redis { place: String, prefix: String },
}

/// Everything but rows: schemas, relations with their files, columns and functions.
const OBJECTS: &str = "\
    WITH ours AS (SELECT oid, nspname FROM pg_namespace WHERE nspname !~ '^pg_|^information_')
    SELECT 'schema ' || nspname FROM ours
    UNION ALL SELECT format('%s %s %s', relkind, c.oid::regclass, relfilenode)
        FROM pg_class c JOIN ours ON relnamespace = ours.oid
    UNION ALL SELECT format('%s %s %s', c.oid::regclass, attname, atttypid::regtype)
        FROM pg_attribute a JOIN pg_class c ON attrelid = c.oid JOIN ours ON relnamespace = ours.oid
    UNION ALL SELECT format('%s %s', p.oid::regprocedure, md5(prosrc))
        FROM pg_proc p JOIN ours ON pronamespace = ours.oid
    ORDER BY 1";
/// Those that hold rows of their own.
const TABLES: &str = "SELECT c.oid::regclass FROM pg_class c WHERE relkind = 'r' AND EXISTS
    (SELECT FROM pg_namespace n WHERE n.oid = relnamespace AND nspname !~ '^pg_|^information_')";

impl Inside {
    pub(crate) fn of(store: &Store) -> Self {
        if let Some(redis) = store.url.strip_prefix("redis://") {
            let (place, settings) = redis.split_once("?prefix=").unwrap();
            let prefix = settings.split('&').next().unwrap().to_owned();
            return Self::Redis { place: place.to_owned(), prefix };
        }
        if let Some(file) = store.url.strip_prefix("sqlite://") {
            return Self::File(file.into());
        }
        let url = store.url.replace("allow_volatile=on", "");
        let runtime = Runtime::new().unwrap();
        let (client, connection) = runtime.block_on(connect(&url, NoTls)).unwrap();
        runtime.spawn(connection);
        Self::Postgres(runtime, client)
    }

    /// Everything, in lines.
    pub(crate) fn dump(&self) -> Vec<String> {
        match self {
            Self::File(path) => {
                let modified = std::fs::metadata(path).unwrap().modified().unwrap();
                vec![format!("{modified:?}"), format!("{:?}", std::fs::read(path).unwrap())]
            }
            Self::Postgres(..) => {
                let mut all = self.says(OBJECTS);
                for table in self.says(TABLES) {
                    let rows = self.says(&format!("SELECT t::text FROM {table} t ORDER BY 1"));
                    all.extend(rows.into_iter().map(|row| format!("{table} {row}")));
                }
                all
            }
            Self::Redis { place, prefix } => keys(place, prefix),
        }
    }

    /// The first column of what Postgres answers.
    pub(crate) fn says(&self, sql: &str) -> Vec<String> {
        let Self::Postgres(runtime, client) = self else { panic!("{sql} is for Postgres") };
        let rows = runtime.block_on(client.simple_query(sql)).unwrap();
        let rows = rows.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        rows.collect()
    }
}

/// The names of keys that begin so, with a digest of what each holds.
fn keys(place: &str, prefix: &str) -> Vec<String> {
    let script = "local all = {} for _, key in ipairs(redis.call('KEYS', ARGV[1])) do \
                  all[#all + 1] = key .. ' ' .. redis.sha1hex(redis.call('DUMP', key)) end \
                  table.sort(all) return table.concat(all, ';') .. ';;'";
    let (authority, database) = place.split_once('/').unwrap_or((place, "0"));
    let (login, address) = authority.rsplit_once('@').unwrap_or(("", authority));
    let mut asked = String::new();
    let login: Vec<&str> = login.split(':').filter(|word| !word.is_empty()).collect();
    if !login.is_empty() {
        asked += &command(&[&["AUTH"], &login[..]].concat());
    }
    asked += &command(&["SELECT", database]);
    asked += &command(&["EVAL", script, "0", &format!("{prefix}:*")]);
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(asked.as_bytes()).unwrap();
    let mut said = Vec::new();
    while !said.ends_with(b";;\r\n") {
        let mut some = [0; 4096];
        let read = stream.read(&mut some).unwrap();
        said.extend_from_slice(&some[..read]);
        assert!(read > 0 && !said.starts_with(b"-"), "{}", String::from_utf8_lossy(&said));
    }
    let said = String::from_utf8(said).unwrap();
    let all = said.trim_end().rsplit("\r\n").next().unwrap_or_default();
    all.split(';').filter(|key| !key.is_empty()).map(str::to_owned).collect()
}

/// As the protocol has it.
fn command(words: &[&str]) -> String {
    let words = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len()));
    format!("*{}\r\n{}", words.len(), words.collect::<String>())
}
