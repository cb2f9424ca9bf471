//! A connection for the tasks of a server's administrator.

use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls};

use super::Result;

/// How long a server may take to answer before it counts as unreachable.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

const DISCONNECT: &str = include_str!("../../sql/postgres_disconnect.sql");
const UNCONNECTED: &str = include_str!("../../sql/postgres_unconnected.sql");

/// How a statement ended that makes a database.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Made {
    Yes,
    NameIsTaken,
}

/// The version of the server at this URL, if it answers.
pub(super) async fn version(url: &str) -> Result<String> {
    let row = within(async { connect(url).await?.query_one("SHOW server_version", &[]).await });
    let version: String = row.await?.get(0);
    // `15.20 (Debian 15.20-0+deb12u1)`: who packed it does not matter.
    Ok(version.split_whitespace().next().unwrap_or_default().to_owned())
}

/// How a server makes a database, which is a copy of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copying {
    /// As it sees fit.
    Default,
    /// File by file, which needs a checkpoint: quick where nothing is synced, and a disturbance of
    /// other users of the server. Since Postgres 15.
    Files,
}

pub(super) async fn create_database(
    url: &str,
    name: &str,
    template: Option<&str>,
    copying: Copying,
) -> Result<Made> {
    let connected = within(connect(url)).await?;
    let template = template.map(|template| format!("TEMPLATE {template}")).unwrap_or_default();
    let how = match copying {
        Copying::Default => "",
        Copying::Files => "STRATEGY file_copy",
    };
    // No time limit: on a busy machine it may take seconds.
    match connected.batch_execute(&format!("CREATE DATABASE {name} {template} {how}")).await {
        Ok(()) => Ok(Made::Yes),
        Err(error) if error.code() == Some(&SqlState::DUPLICATE_DATABASE) => Ok(Made::NameIsTaken),
        Err(error) => Err(explained(&error)),
    }
}

/// Also while others are connected to it.
pub(super) async fn drop_database(url: &str, name: &str) -> Result<()> {
    let connected = within(connect(url)).await?;
    let dropped = async {
        // FORCE alone sleeps 100 ms when it meets a connection.
        connected.execute(DISCONNECT, &[&name]).await?;
        while !is_unconnected(&connected, name).await? {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        connected.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await
    };
    dropped.await.map_err(|error| explained(&error))
}

/// Waits until nobody is connected to a database: one with connections cannot be copied, and
/// nothing reports when they have ended.
pub(super) async fn wait_until_unconnected(url: &str, name: &str) -> Result<()> {
    let connected = within(connect(url)).await?;
    while !is_unconnected(&connected, name).await.map_err(|error| explained(&error))? {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

async fn is_unconnected(
    connected: &Client,
    name: &str,
) -> std::result::Result<bool, tokio_postgres::Error> {
    Ok(connected.query_one(UNCONNECTED, &[&name]).await?.get(0))
}

async fn connect(url: &str) -> std::result::Result<Client, tokio_postgres::Error> {
    let mut config: Config = url.parse()?;
    config.application_name("queuekit tests");
    let (client, connection) = config.connect(NoTls).await?;
    // It ends with the client, which gets its errors too.
    tokio::spawn(connection);
    Ok(client)
}

async fn within<T>(
    call: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
) -> Result<T> {
    match tokio::time::timeout(ANSWER_WITHIN, call).await {
        Ok(answer) => answer.map_err(|error| explained(&error)),
        Err(_) => Err(format!("no answer within {ANSWER_WITHIN:?}")),
    }
}

/// With its causes: the outermost says only that something went wrong.
fn explained(error: &tokio_postgres::Error) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |e| e.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}
