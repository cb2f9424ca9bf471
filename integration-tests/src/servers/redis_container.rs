use std::process::Child;
use std::time::{Duration, Instant};

use testcontainers::core::{ContainerPort, ImageExt};
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, GenericImage};

use super::container::{guard, name_and_tag};
use super::environment::variable;
use super::{Result, resp};

const PORT: ContainerPort = ContainerPort::Tcp(6379);
const READY_WITHIN: Duration = Duration::from_secs(60);

/// A Redis or Valkey server in a container, which is removed when this process ends, however it
/// ends.
#[derive(Debug)]
pub(super) struct RedisContainer {
    pub(super) image: String,
    pub(super) url: String,
    pub(super) version: String,
    _container: ContainerAsync<GenericImage>,
    _guard: Child,
}

impl RedisContainer {
    pub(super) async fn start() -> Result<Self> {
        let image = image();
        let failed = |error: &dyn std::fmt::Display| format!("a container of {image}: {error}");
        let (name, tag) = name_and_tag(&image);
        let program = if image.contains("valkey") { "valkey-server" } else { "redis-server" };
        let args = ["--appendonly", "yes", "--save", "", "--protected-mode", "no"];
        let request = GenericImage::new(name, tag)
            .with_exposed_port(PORT)
            .with_cmd([program].into_iter().chain(args));
        let container = request.start().await.map_err(|error| failed(&error))?;
        let guard = guard(container.id())?;
        let host = container.get_host().await.map_err(|error| failed(&error))?;
        // The name may mean `::1` as well, where the same port is another's.
        let host = host.to_string().replace("localhost", "127.0.0.1");
        let port = container.get_host_port_ipv4(PORT).await.map_err(|error| failed(&error))?;
        let address = format!("{host}:{port}");
        let version = ready(&address).await.map_err(|error| failed(&error))?;
        let url = format!("redis://{address}");
        Ok(Self { image, url, version, _container: container, _guard: guard })
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
