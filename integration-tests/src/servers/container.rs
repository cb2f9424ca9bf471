use std::iter;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testcontainers::core::{ContainerPort, ImageExt, Mount};
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, GenericImage};

use super::environment::variable;
use super::settings::FOR_SHARING;
use super::{Result, admin, binaries};

const PORT: ContainerPort = ContainerPort::Tcp(5432);
/// A file system in memory: nothing of it is to last, and a disk is ten times slower.
const MEMORY: &str = "/memory";
const READY_WITHIN: Duration = Duration::from_secs(60);
/// testcontainers removes a container when its value is dropped, and a value that is shared by
/// all tests of a process never is. So somebody has to wait until this process is gone.
const GUARD: &str = r#"read -r _; docker rm --force --volumes "$1""#;

/// A Postgres server in a container, which is removed when this process ends, however it ends.
#[derive(Debug)]
pub(super) struct Container {
    pub(super) image: String,
    pub(super) url: String,
    _container: ContainerAsync<GenericImage>,
    _guard: Child,
}

impl Container {
    /// Whether there is somebody to ask for one.
    pub(super) fn docker_answers() -> bool {
        let version = Command::new("docker").arg("version").stdin(Stdio::null()).output();
        version.is_ok_and(|output| output.status.success())
    }

    pub(super) async fn start() -> Result<Self> {
        let image = image();
        let (name, tag) = name_and_tag(&image);
        let settings = FOR_SHARING.iter().map(|(name, value)| format!("--{name}={value}"));
        // Docker opens the port to everyone in the network.
        let password: String = iter::repeat_with(fastrand::alphanumeric).take(20).collect();
        let request = GenericImage::new(name, tag)
            .with_exposed_port(PORT)
            .with_env_var("POSTGRES_PASSWORD", &password)
            .with_env_var("PGDATA", format!("{MEMORY}/data"))
            .with_mount(Mount::tmpfs_mount(MEMORY))
            .with_cmd(settings);
        let container = request.start().await.map_err(|error| failed(&image, &error))?;
        let guard = guard(container.id())?;
        let host = container.get_host().await.map_err(|error| failed(&image, &error))?;
        // The name may mean `::1` as well, where the same port is another's.
        let host = host.to_string().replace("localhost", "127.0.0.1");
        let port = container.get_host_port_ipv4(PORT).await;
        let port = port.map_err(|error| failed(&image, &error))?;
        let url = format!("postgres://postgres:{password}@{host}:{port}/postgres");
        ready(&image, &url).await?;
        Ok(Self { image, url, _container: container, _guard: guard })
    }
}

/// The image that will be used.
pub(super) fn image() -> String {
    let version = || binaries::asked_version().unwrap_or_else(|| "17".to_owned());
    let given = variable("QUEUEKIT_TEST_POSTGRES_IMAGE");
    given.unwrap_or_else(|| format!("postgres:{}-alpine", version()))
}

pub(super) fn name_and_tag(image: &str) -> (&str, &str) {
    // A colon may also stand before the port of a registry.
    let parts = image.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'));
    parts.unwrap_or((image, "latest"))
}

pub(super) fn guard(id: &str) -> Result<Child> {
    let mut guard = Command::new("sh");
    guard.args(["-c", GUARD, "queuekit-guard", id]).process_group(0);
    guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    guard.spawn().map_err(|error| format!("`sh`, to guard a container: {error}"))
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

fn failed(image: &str, error: &testcontainers::TestcontainersError) -> String {
    format!(
        "Docker answers, but does not start {image}: {error}; `docker pull {image}` may say more, \
         QUEUEKIT_TEST_POSTGRES_IMAGE names another image, and QUEUEKIT_TEST_SERVERS=url,local \
         leaves Docker alone"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_told_from_a_port() {
        assert_eq!(name_and_tag("postgres:17-alpine"), ("postgres", "17-alpine"));
        assert_eq!(name_and_tag("localhost:5000/postgres"), ("localhost:5000/postgres", "latest"));
        assert_eq!(name_and_tag("host:5000/postgres:15"), ("host:5000/postgres", "15"));
    }
}
