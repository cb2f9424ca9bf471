use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use super::container::Container;
use super::environment::variable;
use super::redis_container::{self, RedisContainer};
use super::{OwnRedis, Result, Source, background, binaries, resp};
use queuekit_conformance::{missing, tell};

const URL: &str = "QUEUEKIT_TEST_REDIS_URL";

/// The Redis server that the tests of this process share; the first call finds or starts it.
///
/// None if there is none; a line on stderr says so, and how to get one. Blocks, for less than a
/// second as a rule, also inside of a runtime.
///
/// # Panics
/// If there is one that does not work, or if there is none and `QUEUEKIT_TEST_REQUIRE` has
/// `redis`.
pub fn redis() -> Option<&'static Redis> {
    static SERVER: OnceLock<Result<Option<Redis>>> = OnceLock::new();
    let found = SERVER.get_or_init(|| background::block_on(Redis::find()));
    found.as_ref().unwrap_or_else(|error| panic!("{error}")).as_ref()
}

/// A Redis server that tests share: each has a prefix of its own for its keys.
#[derive(Debug)]
pub struct Redis {
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
    Local(Box<OwnRedis>),
    Container(Box<Container>),
}

impl Redis {
    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What it says it is, `7.0.15` for example.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Where it came from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// A prefix for keys that nobody else uses.
    pub fn prefix(&self) -> String {
        unique_prefix()
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
                tell(&format!("Redis {version}, {details}, in {seconds:.2} s"));
                return Ok(Some(server));
            }
        }
        missing("redis", &remedy()).map(|()| None)
    }

    /// A URL that is given is meant: another server instead would hide that it does not work.
    async fn given() -> Result<Option<(Self, String)>> {
        let Some(url) = variable(URL) else { return Ok(None) };
        let address = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        let address = address.rsplit_once('@').map_or(address, |(_, address)| address);
        let address = address.split(['/', '?']).next().unwrap_or_default();
        let version = resp::version(address).await.map_err(|error| {
            format!("{URL} is set, but there is no server at it: {error}; start it, or unset {URL}")
        })?;
        let server = Self { url, version, source: Source::Url, _runs: Runs::Nothing };
        Ok(Some((server, format!("the one of {URL}"))))
    }

    async fn local() -> Result<Option<(Self, String)>> {
        let Some(program) = binaries::program("redis-server") else { return Ok(None) };
        let details = format!("started from {}", program.display());
        let own = OwnRedis::settings().for_sharing().start_with(&program).await?;
        let (url, version) = (own.url(), own.version().to_owned());
        let runs = Runs::Local(Box::new(own));
        Ok(Some((Self { url, version, source: Source::Local, _runs: runs }, details)))
    }

    async fn in_docker() -> Result<Option<(Self, String)>> {
        if !Container::docker_answers() {
            return Ok(None);
        }
        let RedisContainer { url, version, container } = RedisContainer::start().await?;
        let details = format!("in a container of {}", container.image);
        let runs = Runs::Container(Box::new(container));
        Ok(Some((Self { url, version, source: Source::Docker, _runs: runs }, details)))
    }
}

pub(super) fn unique_prefix() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // On a server that outlives us a process before may have had our number.
    format!("t{}-{:08x}-{count}", std::process::id(), fastrand::u32(..))
}

/// All ways to have one.
fn remedy() -> String {
    format!(
        "start one and `export {URL}=redis://HOST:6379`; or install it, on Debian with `apt-get \
         install redis-server`; or start Docker and `docker pull {}`",
        redis_container::image()
    )
}
