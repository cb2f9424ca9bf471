use std::sync::OnceLock;
use std::time::Instant;

use super::admin::Copying;
use super::binaries::{self, Binaries};
use super::container::Container;
use super::environment::variable;
use super::postgres_container::{self, PostgresContainer};
use super::{Database, OwnServer, Result, Source, admin, background};
use queuekit_conformance::{missing, tell};

const URL: &str = "QUEUEKIT_TEST_POSTGRES_URL";

/// The Postgres server that the tests of this process share; the first call finds or starts it.
///
/// None if there is none; a line on stderr says so, and how to get one. Blocks, for less than a
/// second as a rule, also inside of a runtime.
///
/// # Panics
/// If there is one that does not work, or if there is none and `QUEUEKIT_TEST_REQUIRE` has
/// `postgres`.
pub fn postgres() -> Option<&'static Postgres> {
    static SERVER: OnceLock<Result<Option<Postgres>>> = OnceLock::new();
    let found = SERVER.get_or_init(|| background::block_on(Postgres::find()));
    found.as_ref().unwrap_or_else(|error| panic!("{error}")).as_ref()
}

/// A Postgres server that tests share: each has a [`Database`] of its own in it.
#[derive(Debug)]
pub struct Postgres {
    url: String,
    version: String,
    source: Source,
    _runs: Runs,
}

/// A server that this process has started, kept while it has to run.
#[derive(Debug)]
#[expect(dead_code, reason = "held until the process ends")]
enum Runs {
    Nothing,
    Local(Box<OwnServer>),
    Container(Box<Container>),
}

impl Postgres {
    /// The URL of its administrator.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// What it says it is, `15.20` for example.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Where it came from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// An empty database for the caller alone.
    ///
    /// # Panics
    /// If the server does not make one.
    pub async fn database(&self) -> Database {
        let created = Database::create(self.url(), self.copying()).await;
        created.unwrap_or_else(|error| panic!("no database on {}: {error}", self.source.name()))
    }

    fn copying(&self) -> Copying {
        let major = self.version.split(|c: char| !c.is_ascii_digit()).next();
        let is_new =
            major.and_then(|major| major.parse().ok()).is_some_and(|major: u32| major >= 15);
        if is_new && self.source != Source::Url { Copying::Files } else { Copying::Default }
    }

    async fn find() -> Result<Option<Self>> {
        let begun = Instant::now();
        for source in Source::order()? {
            let found = match source {
                Source::Url => Self::given().await?,
                Source::Local => Self::local().await?,
                Source::Docker => Self::in_docker().await?,
            };
            if let Some((server, details)) = found {
                let seconds = begun.elapsed().as_secs_f64();
                let version = &server.version;
                tell(&format!("Postgres {version}, {details}, in {seconds:.2} s"));
                return Ok(Some(server));
            }
        }
        missing("postgres", &remedy()).map(|()| None)
    }

    /// A URL that is given is meant: another server instead would hide that it does not work.
    async fn given() -> Result<Option<(Self, String)>> {
        let Some(url) = variable(URL) else { return Ok(None) };
        let version = admin::version(&url).await.map_err(|error| {
            format!("{URL} is set, but there is no server at it: {error}; start it, or unset {URL}")
        })?;
        let server = Self { url, version, source: Source::Url, _runs: Runs::Nothing };
        Ok(Some((server, format!("the one of {URL}"))))
    }

    async fn local() -> Result<Option<(Self, String)>> {
        let Some(binaries) = Binaries::find() else { return Ok(None) };
        let details = format!("started from {}", binaries.directory.display());
        let own = OwnServer::settings().for_sharing().start_with(binaries).await?;
        let (url, version) = (own.url(), own.version().to_owned());
        let server =
            Self { url, version, source: Source::Local, _runs: Runs::Local(Box::new(own)) };
        Ok(Some((server, details)))
    }

    async fn in_docker() -> Result<Option<(Self, String)>> {
        if !Container::docker_answers() {
            return Ok(None);
        }
        let started = PostgresContainer::start().await?;
        let url = started.url;
        let version = admin::version(&url).await?;
        let details = format!("in a container of {}", started.container.image);
        let runs = Runs::Container(Box::new(started.container));
        Ok(Some((Self { url, version, source: Source::Docker, _runs: runs }, details)))
    }
}

/// All three ways to have one.
fn remedy() -> String {
    let version = binaries::asked_version().map(|version| format!("version {version} is wanted; "));
    format!(
        "{}start one and `export {URL}=postgres://USER:PASSWORD@HOST:5432/postgres`; or install \
         it, on Debian with `apt-get install postgresql`; or start Docker and `docker pull {}`",
        version.unwrap_or_default(),
        postgres_container::image()
    )
}
