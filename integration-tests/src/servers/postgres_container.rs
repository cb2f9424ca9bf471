use std::iter;
use std::time::{Duration, Instant};

use super::container::Container;
use super::environment::variable;
use super::settings::FOR_SHARING;
use super::{Result, admin, binaries};

const READY_WITHIN: Duration = Duration::from_secs(60);

/// A Postgres server in a container.
#[derive(Debug)]
pub(super) struct PostgresContainer {
    pub(super) url: String,
    pub(super) container: Container,
}

impl PostgresContainer {
    pub(super) async fn start() -> Result<Self> {
        let image = image();
        // Others of this machine reach the port as well.
        let password: String = iter::repeat_with(fastrand::alphanumeric).take(20).collect();
        let password_set = format!("POSTGRES_PASSWORD={password}");
        // A file system in memory: nothing of it is to last, and a disk is ten times slower.
        let options =
            ["--tmpfs", "/memory", "--env", "PGDATA=/memory/data", "--env", &password_set];
        let settings: Vec<_> =
            FOR_SHARING.iter().map(|(name, value)| format!("--{name}={value}")).collect();
        let settings: Vec<_> = settings.iter().map(String::as_str).collect();
        let container = Container::start(&image, 5432, &options, &settings)?;
        let url = format!("postgres://postgres:{password}@{}/postgres", container.address);
        ready(&image, &url).await?;
        Ok(Self { url, container })
    }
}

/// The image that will be used.
pub(super) fn image() -> String {
    let version = || binaries::asked_version().unwrap_or_else(|| "17".to_owned());
    let given = variable("QUEUEKIT_TEST_POSTGRES_IMAGE");
    given.unwrap_or_else(|| format!("postgres:{}-alpine", version()))
}

/// The image starts its server twice, and logs twice that it is ready. Only the second listens to
/// TCP, so the answer to a question tells more than the log.
async fn ready(image: &str, url: &str) -> Result<()> {
    let begun = Instant::now();
    while let Err(error) = admin::version(url).await {
        if begun.elapsed() > READY_WITHIN {
            return Err(format!("Postgres in a container of {image} does not answer: {error}"));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
