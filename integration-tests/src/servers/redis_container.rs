use std::time::{Duration, Instant};

use super::container::Container;
use super::environment::variable;
use super::{Result, resp};

const READY_WITHIN: Duration = Duration::from_secs(60);

/// A Redis or Valkey server in a container.
#[derive(Debug)]
pub(super) struct RedisContainer {
    pub(super) url: String,
    pub(super) version: String,
    pub(super) container: Container,
}

impl RedisContainer {
    pub(super) async fn start() -> Result<Self> {
        let image = image();
        let program = if image.contains("valkey") { "valkey-server" } else { "redis-server" };
        let args = [program, "--appendonly", "yes", "--save", "", "--protected-mode", "no"];
        let container = Container::start(&image, 6379, &[], &args)?;
        let version = ready(&container.address).await;
        let version = version.map_err(|error| format!("a container of {image}: {error}"))?;
        let url = format!("redis://{}", container.address);
        Ok(Self { url, version, container })
    }
}

/// The image that will be used.
pub(super) fn image() -> String {
    variable("QUEUEKIT_TEST_REDIS_IMAGE").unwrap_or_else(|| "redis:7-alpine".to_owned())
}

async fn ready(address: &str) -> Result<String> {
    let begun = Instant::now();
    loop {
        match resp::version(address).await {
            Ok(version) => return Ok(version),
            Err(error) if begun.elapsed() > READY_WITHIN => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}
