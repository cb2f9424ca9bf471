//! From a URL to a client.

use queuekit_core::memory::MemoryStore;
use queuekit_core::{Client, Error, ErrorKind, Result};

use crate::register::{Opening, opener};
use crate::store_url::{Store, StoreUrl};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Opens the store at a URL.
///
/// | URL | store |
/// |---|---|
/// | `sqlite://jobs.db` | a file, relative to the current directory; feature `sqlite` |
/// | `sqlite:///var/lib/app/jobs.db` | the same by its absolute path (three slashes) |
/// | `postgres://USER:PASSWORD@HOST:PORT/DATABASE` | a Postgres database; feature `postgres` |
/// | `redis://USER:PASSWORD@HOST:PORT/DATABASE` | a Redis or Valkey server; feature `redis` |
/// | `redis-cluster://USER:PASSWORD@HOST:PORT,HOST:PORT` | a Redis Cluster, by some of its nodes |
/// | `redis-sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER` | the master that these sentinels know by this name |
/// | `rediss://..`, `rediss-cluster://..`, `rediss-sentinel://..` | the same over encrypted connections |
/// | `memory:` | a new store in this process, feature `memory`; gone when its last client is |
///
/// Settings follow a `?`, joined by `&`. These are the settings of an SQLite file:
///
/// | setting | meaning |
/// |---|---|
/// | `synchronous=full` | default: an `Ok` survives loss of power |
/// | `synchronous=normal` | an `Ok` survives the end of the process, and calls are faster |
/// | `create=file` | default: creates the file and its tables; refuses other programs' databases |
/// | `create=tables` | adds tables (`queuekit_*`) to the database of an application |
/// | `create=nothing` | opens an existing store only |
/// | `journal=wal` | switches the database of an application to the write-ahead log if necessary |
/// | `migrate=off` | refuses an older schema instead of migrating it |
/// | `op_timeout_ms=10000` | how long a call waits for the file's write lock |
///
/// `sqlite:///app.db?create=tables&journal=wal` is the database of your application. In a path,
/// `%XX` encodes a byte, as in `%3F` for `?`.
///
/// In Postgres the tables are in the schema `queuekit`, or in the one given with `schema=`. The
/// other settings are listed at `queuekit::postgres::PostgresStore::connect_url`; `postgresql:` is
/// the same as `postgres:`.
///
/// In Redis all keys begin with `qk`, or with the prefix given with `prefix=`. The other settings
/// are listed at `queuekit::redis::RedisStore::connect_url`.
///
/// Stores of other crates have their own schemes, see [`register`](crate::register()).
///
/// If you need more than a client, open the store itself (`queuekit::sqlite::SqliteStore`,
/// `queuekit::postgres::PostgresStore` or `queuekit::redis::RedisStore`) and pass it to
/// [`Client::new`].
///
/// # Errors
/// `Invalid` if this is not the URL of a store. `Unsupported` if this build cannot open it; the
/// error says what to change. `Unavailable` if the file cannot be read and written, or the server
/// cannot be reached. `Corrupt` if the file is not a database. `Conflict` if it belongs to another
/// application. No error contains the password of the URL.
///
#[cfg_attr(all(feature = "memory", feature = "sqlite"), doc = "```")]
#[cfg_attr(not(all(feature = "memory", feature = "sqlite")), doc = "```ignore")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("jobs.db").display().to_string().replace('\\', "/");
/// let client = queuekit::connect(&format!("sqlite://{path}?synchronous=normal")).await?;
/// assert!(client.queues().list(None, 10).await?.queues.is_empty());
/// client.close().await?;
///
/// let client = queuekit::connect("memory:").await?;
/// assert!(client.queues().list(None, 10).await?.queues.is_empty());
///
/// let error = queuekit::connect("mysql://localhost").await.unwrap_err();
/// assert!(error.to_string().contains("memory:, sqlite:, postgres:, redis:"));
/// # Ok(())
/// # }
/// ```
pub async fn connect(url: &str) -> Result<Client> {
    open(url, Checks::All).await.map_err(|error| error.during("connect"))
}

/// Opens the store at a URL as [`connect`] does, but neither checks nor changes the schema and the
/// settings of the server. Use it to find out what is wrong with a store ([`Inspect`]) or to
/// migrate its schema ([`Migrations`]).
///
/// [`Inspect`]: queuekit_core::capability::Inspect
/// [`Migrations`]: queuekit_core::capability::Migrations
///
/// # Errors
/// As [`connect`], without the errors about schemas and settings of servers.
///
#[cfg_attr(feature = "sqlite", doc = "```")]
#[cfg_attr(not(feature = "sqlite"), doc = "```ignore")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("jobs.db").display().to_string().replace('\\', "/");
/// let client = queuekit::connect_unchecked(&format!("sqlite://{path}")).await?;
/// assert_eq!(client.schema().status().await?.stored, 0);
/// assert_eq!(client.schema().migrate().await?, client.schema().status().await?);
/// # Ok(())
/// # }
/// ```
pub async fn connect_unchecked(url: &str) -> Result<Client> {
    open(url, Checks::None).await.map_err(|error| error.during("connect"))
}

/// Whether a server and a schema that do not fit are refused, or brought up to date (R11.2).
#[derive(Clone, Copy)]
enum Checks {
    All,
    None,
}

async fn open(text: &str, checks: Checks) -> Result<Client> {
    let url = StoreUrl::parse(text)?;
    let opened = match url.store() {
        Some(Store::Memory) if cfg!(feature = "memory") => open_memory(url),
        Some(Store::Memory) => Err(feature_is_off("memory")),
        Some(Store::Sqlite) => open_sqlite(text, checks).await,
        Some(Store::Postgres) => open_postgres(url, checks).await,
        Some(Store::Redis) => open_redis(url, checks).await,
        None => match opener(url.scheme) {
            Some(open) => {
                let is_checked = matches!(checks, Checks::All);
                open(Opening { url: text.to_owned(), is_checked }).await
            }
            // Without the rest: where the scheme is wrong, anything may be a password.
            None => return Err(unknown_scheme(url.scheme)),
        },
    };
    opened.map_err(|error| error.on(url))
}

#[cfg(feature = "sqlite")]
async fn open_sqlite(url: &str, checks: Checks) -> Result<Client> {
    use queuekit_sqlite::{SqliteConfig, SqliteStore};
    let config = SqliteConfig::from_url(url)?;
    let opened = match checks {
        Checks::All => SqliteStore::connect(config).await,
        Checks::None => SqliteStore::connect_unchecked(config).await,
    };
    opened.map(Client::new)
}

#[cfg(not(feature = "sqlite"))]
async fn open_sqlite(_: &str, _: Checks) -> Result<Client> {
    Err(feature_is_off("sqlite"))
}

/// The driver knows its scheme in lower case only.
#[cfg(feature = "postgres")]
async fn open_postgres(url: StoreUrl<'_>, checks: Checks) -> Result<Client> {
    use queuekit_postgres::{PostgresConfig, PostgresStore};
    let config = PostgresConfig::from_url(&format!("postgres:{}", url.rest))?;
    let opened = match checks {
        Checks::All => PostgresStore::connect(config).await,
        Checks::None => PostgresStore::connect_unchecked(config).await,
    };
    opened.map(Client::new)
}

#[cfg(not(feature = "postgres"))]
async fn open_postgres(_: StoreUrl<'_>, _: Checks) -> Result<Client> {
    Err(feature_is_off("postgres"))
}

/// The driver knows its schemes in lower case only.
#[cfg(feature = "redis")]
async fn open_redis(url: StoreUrl<'_>, checks: Checks) -> Result<Client> {
    use queuekit_redis::{RedisConfig, RedisStore};
    let scheme = url.scheme.to_ascii_lowercase();
    let config = RedisConfig::from_url(&format!("{scheme}:{}", url.rest))?;
    let opened = match checks {
        Checks::All => RedisStore::connect(config).await,
        Checks::None => RedisStore::connect_unchecked(config).await,
    };
    opened.map(Client::new)
}

#[cfg(not(feature = "redis"))]
async fn open_redis(_: StoreUrl<'_>, _: Checks) -> Result<Client> {
    Err(feature_is_off("redis"))
}

fn open_memory(url: StoreUrl<'_>) -> Result<Client> {
    if matches!(url.rest, "" | "//") {
        return Ok(Client::new(MemoryStore::new()));
    }
    let limit = "memory: alone, because each call opens a separate store without a name";
    Err(Error::invalid("url", limit, "something after the colon"))
}

fn unknown_scheme(scheme: &str) -> Error {
    let limit = "of a known scheme: memory:, sqlite:, postgres:, redis:";
    Error::invalid("url", limit, format!("{scheme}:"))
}

fn feature_is_off(feature: &str) -> Error {
    let message = format!(
        "this build of queuekit lacks the feature `{feature}`; enable it in Cargo.toml: \
         queuekit = {{ version = \"{VERSION}\", features = [\"{feature}\"] }}"
    );
    Error::new(ErrorKind::Unsupported, message)
}

/// A store's URL as it may be shown, in a log or to people: without userinfo and settings, both of
/// which can hold secrets. Of a text that is no URL of a store, nothing is shown.
///
/// ```
/// assert_eq!(queuekit::redacted("postgres://ada:pw@db/jobs"), "postgres://***@db/jobs");
/// assert_eq!(queuekit::redacted("ada:pw@db"), "***");
/// ```
pub fn redacted(url: &str) -> String {
    let is_known = |url: &StoreUrl<'_>| url.store().is_some() || opener(url.scheme).is_some();
    let url = StoreUrl::parse(url).ok().filter(is_known);
    url.map_or("***".to_owned(), |url| url.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn refused(url: &str) -> (String, String) {
        let error = open(url, Checks::All).await.unwrap_err();
        let unchecked = open(url, Checks::None).await.unwrap_err();
        assert_eq!(error.to_string(), unchecked.to_string(), "what is no URL of a store is none");
        (error.kind().as_str().to_owned(), error.to_string())
    }

    #[tokio::test]
    async fn memory_opens_in_any_case_and_only_without_a_name() {
        for url in ["memory:", "memory://", "MEMORY:"] {
            assert_eq!(open(url, Checks::All).await.is_ok(), cfg!(feature = "memory"), "{url}");
        }
        for url in ["memory:jobs", "memory:///jobs", "memory://u:hunter2@jobs", "memory: "] {
            let (kind, text) = refused(url).await;
            let wanted = if cfg!(feature = "memory") { "invalid" } else { "unsupported" };
            assert_eq!(kind, wanted, "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }

    #[cfg(feature = "sqlite")]
    #[tokio::test]
    async fn sqlite_opens_a_file_which_keeps_what_was_enqueued() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("jobs @ 1#2.db");
        for (scheme, jobs) in [("sqlite", 0), ("SQLite", 1)] {
            let url = format!("{scheme}://{}?synchronous=normal", path.display());
            let client = open(&url, Checks::All).await.unwrap();
            let found = client.backend().list_jobs(&Default::default()).await.unwrap().items.len();
            assert_eq!(found, jobs);
            client.enqueue(queuekit_core::JobDraft::new("greet", "{}")).await.unwrap();
            client.close().await.unwrap();
        }
        let left = std::fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().path());
        assert_eq!(left.collect::<Vec<_>>(), [path], "a store that was closed is one file");
    }

    #[cfg(feature = "sqlite")]
    #[tokio::test]
    async fn a_store_that_is_opened_unchecked_is_left_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("jobs.db");
        let missing = format!("sqlite://{}?create=nothing", path.display());
        let error = connect_unchecked(&missing).await.unwrap_err().to_string();
        assert!(error.contains("there is no such file") && !path.exists(), "{error}");
        std::fs::write(&path, "").unwrap();
        let client = connect_unchecked(&missing).await.unwrap();
        let migrations = client.backend().capabilities().migrations.unwrap();
        assert_eq!(migrations.status().await.unwrap().stored, 0);
        client.close().await.unwrap();
        let error = connect(&missing).await.unwrap_err().to_string();
        assert!(error.contains("`queuekit migrate up`"), "{error}");
    }

    #[cfg(feature = "sqlite")]
    #[tokio::test]
    async fn what_sqlite_cannot_open_is_named_with_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let text = directory.path().join("notes.txt");
        std::fs::write(&text, "no database\n".repeat(100)).unwrap();
        let missing = directory.path().join("missing/jobs.db");
        let urls = [
            ("sqlite://".to_owned(), "invalid", "sqlite://: url must be sqlite://PATH"),
            ("sqlite::memory:".to_owned(), "invalid", "use memory:"),
            ("sqlite://jobs.db?sync=full".to_owned(), "invalid", "synchronous=full|normal"),
            (format!("sqlite://{}", text.display()), "corrupt", "name another file"),
            (format!("sqlite://{}", missing.display()), "unavailable", "its directory exists"),
        ];
        for (url, wanted, advice) in urls {
            let (kind, text) = refused(&url).await;
            assert_eq!(kind, wanted, "{text}");
            assert!(text.contains(advice), "{text}");
        }
        let (_, text) = refused("sqlite://jobs.db?key=hunter2").await;
        assert!(!text.contains("hunter2"), "{text}");
    }

    #[cfg(feature = "postgres")]
    #[tokio::test]
    async fn what_postgres_cannot_open_is_named_without_its_password() {
        // Nobody listens at port 1.
        let nobody = "ada:hunter2@127.0.0.1:1/jobs?op_timeout_ms=100";
        let urls = [
            (format!("postgres://{nobody}"), "unavailable", "127.0.0.1:1/jobs"),
            (format!("PostgreSQL://{nobody}"), "unavailable", "127.0.0.1:1/jobs"),
            ("postgres://ada:hunter2@db/jobs?schema=Jobs".to_owned(), "invalid", "lower-case"),
            ("postgres://ada:hunter2@db:port/jobs".to_owned(), "invalid", "HOST:PORT"),
            ("postgres:jobs".to_owned(), "invalid", "HOST:PORT"),
        ];
        for (url, wanted, advice) in urls {
            let (kind, text) = refused(&url).await;
            assert_eq!(kind, wanted, "{text}");
            assert!(text.contains(advice) && !text.contains("hunter2"), "{text}");
        }
    }

    #[cfg(feature = "redis")]
    #[tokio::test]
    async fn what_redis_cannot_open_is_named_without_its_password() {
        // Nobody listens at port 1.
        let nobody = "ada:hunter2@127.0.0.1:1/0?op_timeout_ms=100";
        let urls = [
            (format!("redis://{nobody}"), "unavailable", "127.0.0.1:1/0"),
            (format!("RedisS://{nobody}"), "unavailable", "127.0.0.1:1/0"),
            ("redis://ada:hunter2@db/0?prefix={a}".to_owned(), "invalid", "prefix"),
            ("redis://ada:hunter2@db:port/0".to_owned(), "invalid", "HOST:PORT"),
            (format!("redis-cluster://{nobody}"), "unavailable", "127.0.0.1:1/0"),
            (format!("redis-sentinel://{nobody}"), "unavailable", "check that they run"),
            ("redis-sentinel://:hunter2@db".to_owned(), "invalid", "NAME_OF_THE_MASTER"),
        ];
        for (url, wanted, advice) in urls {
            let (kind, text) = refused(&url).await;
            assert_eq!(kind, wanted, "{text}");
            assert!(text.contains(advice) && !text.contains("hunter2"), "{text}");
        }
    }

    #[tokio::test]
    async fn what_is_no_url_is_invalid_and_not_repeated() {
        let no_urls = [
            "",
            " ",
            ":",
            "hunter2",
            "jobs.db",
            "://hunter2",
            ":hunter2",
            " memory:",
            "1memory:",
            "user=a password=hunter2",
            "user=a password=x:hunter2",
            "/var/lib/jobs:hunter2",
        ];
        for url in no_urls {
            let (kind, text) = refused(url).await;
            assert_eq!(kind, "invalid", "{url:?}");
            assert!(text.contains("sqlite://jobs.db") && !text.contains("hunter2"), "{text}");
        }
    }

    #[tokio::test]
    async fn an_unknown_scheme_is_invalid_and_the_known_ones_are_listed() {
        for url in ["mysql://ada:hunter2@db", "memori:", "ada:hunter2@db", "sqlite3:x", "c:\\jobs"]
        {
            let (kind, text) = refused(url).await;
            assert_eq!(kind, "invalid", "{text}");
            assert!(text.contains("memory:, sqlite:, postgres:, redis:"), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }

    #[tokio::test]
    async fn a_feature_that_is_off_is_named_with_its_cargo_line() {
        let stores = [
            ("memory", cfg!(feature = "memory")),
            ("sqlite", cfg!(feature = "sqlite")),
            ("postgres", cfg!(feature = "postgres")),
            ("redis", cfg!(feature = "redis")),
        ];
        for (feature, is_on) in stores {
            let text = feature_is_off(feature).to_string();
            assert!(text.contains(&format!("lacks the feature `{feature}`")), "{text}");
            assert!(text.contains(&format!("features = [\"{feature}\"]")), "{text}");
            if !is_on {
                let (_, refused) = refused(&format!("{feature}:")).await;
                assert!(refused.contains(&text), "{refused}");
            }
        }
    }
}
