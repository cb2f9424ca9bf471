use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use queuekit_conformance::missing;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::daemon::{Answers, Daemon, Launch};
use super::{Result, background, binaries, place};

/// The chromedriver that the tests of this process share; the first call starts it.
///
/// None if it or its browser is not on this machine; a line on stderr says so.
///
/// # Panics
/// If it is and does not work, or if it is required: `QUEUEKIT_TEST_REQUIRE` has `chromedriver` and
/// `chromium`.
pub fn chromedriver() -> Option<&'static ChromeDriver> {
    static DRIVER: OnceLock<Result<Option<ChromeDriver>>> = OnceLock::new();
    let found = DRIVER.get_or_init(|| background::block_on(ChromeDriver::find()));
    found.as_ref().unwrap_or_else(|error| panic!("{error}")).as_ref()
}

/// A chromedriver, which starts browsers and steers them. They end with it.
#[derive(Debug)]
pub struct ChromeDriver {
    port: u16,
    browser: PathBuf,
    _daemon: Daemon,
}

impl ChromeDriver {
    /// Where it answers.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The browser to start.
    pub fn browser(&self) -> &Path {
        &self.browser
    }

    /// What a browser has to be started with, so that it ends with the driver, however that ends:
    /// it listens on a pipe, not on a port.
    pub fn arguments(&self) -> [&'static str; 11] {
        [
            "--remote-debugging-pipe",
            "--headless=new",
            "--hide-scrollbars",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ]
    }

    async fn find() -> Result<Option<Self>> {
        let found = |name: &str, package: &str| match binaries::program(name) {
            Some(program) => Ok(Some(program)),
            None => {
                let remedy = format!("install it, on Debian with `apt-get install {package}`");
                missing(name, &remedy).map(|()| None)
            }
        };
        let driver = found("chromedriver", "chromium-driver")?;
        let browser = found("chromium", "chromium")?;
        match (driver, browser) {
            (Some(driver), Some(browser)) => Self::launch(&driver, browser).await.map(Some),
            _ => Ok(None),
        }
    }

    async fn launch(program: &Path, browser: PathBuf) -> Result<Self> {
        let mut daemon = Daemon::new("chromedriver", "TERM", &place::quick())?;
        let how = |daemon: &Daemon, port| {
            let home = daemon.home().display().to_string();
            // Profiles of browsers and all else that they write goes with the directory.
            let args = [
                format!("HOME={home}"),
                format!("TMPDIR={home}"),
                program.display().to_string(),
                format!("--port={port}"),
            ];
            let answers = Answers::WebDriver(format!("127.0.0.1:{port}"));
            Ok(Launch { program: "env".into(), args: args.to_vec(), answers })
        };
        let (port, _) = daemon.launch_on_free_port(how).await?;
        Ok(Self { port, browser, _daemon: daemon })
    }
}

/// What the driver at this address says once it is ready.
pub(super) async fn status(address: &str) -> Result<String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(address).await.map_err(failed)?;
    let request = format!("GET /status HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.map_err(failed)?;
    let mut said = Vec::new();
    // The connection stays open: it waits for the next question.
    while !is_whole(&said) {
        if stream.read_buf(&mut said).await.map_err(failed)? == 0 {
            break;
        }
    }
    let said = String::from_utf8_lossy(&said).into_owned();
    if said.contains("\"ready\":true") { Ok(said) } else { Err(format!("it said `{said}`")) }
}

/// An answer is one object, and ends with it.
fn is_whole(said: &[u8]) -> bool {
    let text = String::from_utf8_lossy(said);
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body.trim_end());
    !body.is_empty() && body.matches('{').count() == body.matches('}').count()
}
