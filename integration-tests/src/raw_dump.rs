//! Everything that a store keeps, as it is stored: also what no read shows.

use std::path::Path;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::cmd;
use rusqlite::types::Value;
use rusqlite::{Connection, Row};
use tokio_postgres::{Client, NoTls};

/// Every row of every table of an SQLite file.
///
/// # Errors
/// Those of SQLite.
pub fn sqlite(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut tables = conn.prepare(include_str!("../sql/sqlite_tables.sql"))?;
    let tables: Vec<String> =
        tables.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut lines = Vec::new();
    for table in tables {
        let rows = include_str!("../sql/sqlite_dump.sql").replace("the_table", &table);
        let mut rows = conn.prepare(&rows)?;
        let columns = rows.column_count();
        let line = |row: &Row<'_>| {
            let values = (0..columns).map(|at| row.get::<_, Value>(at));
            let values = values.collect::<rusqlite::Result<Vec<_>>>()?;
            Ok(format!("{table}: {values:?}"))
        };
        for line in rows.query_map([], line)? {
            lines.push(line?);
        }
    }
    Ok(lines)
}

/// The same of a file, which others may write.
///
/// # Panics
/// If it cannot be read.
pub fn sqlite_at(path: &Path) -> Vec<String> {
    let conn = Connection::open(path).expect("the file opens");
    conn.busy_timeout(Duration::from_secs(10)).expect("a timeout");
    sqlite(&conn).expect("the file is read")
}

/// Every row of every table of a schema, and its place; every sequence.
///
/// # Panics
/// If the server does not answer.
pub async fn postgres(client: &Client, schema: &str) -> Vec<String> {
    let read = include_str!("../sql/postgres_dump_read.sql");
    let rows = match client.query(read, &[&schema]).await {
        Ok(rows) => rows,
        // The connection's first dump makes the function.
        Err(_) => {
            let make = include_str!("../sql/postgres_dump.sql");
            client.batch_execute(make).await.expect("a function");
            client.query(read, &[&schema]).await.expect("the schema is read")
        }
    };
    rows.iter().map(|row| row.get(0)).collect()
}

/// The same of a database, over a connection for that alone.
///
/// # Panics
/// If there is no such database.
pub async fn postgres_at(url: &str, schema: &str) -> Vec<String> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("it connects");
    tokio::spawn(async move { drop(connection.await) });
    postgres(&client, schema).await
}

/// Key by key what a Redis server has under a prefix, and when the key goes.
///
/// # Panics
/// If the server does not answer.
pub async fn redis(mut connection: MultiplexedConnection, prefix: &str) -> Vec<String> {
    let mut dump = cmd("EVAL");
    dump.arg(include_str!("../lua/redis_dump.lua")).arg(0).arg(format!("{prefix}:*"));
    let lines: Vec<Vec<u8>> = dump.query_async(&mut connection).await.expect("the server answers");
    lines.iter().map(|line| line.escape_ascii().to_string()).collect()
}

/// The same of a server, over a connection for that alone.
///
/// # Panics
/// If there is no such server.
pub async fn redis_at(url: &str, prefix: &str) -> Vec<String> {
    let client = redis::Client::open(url).expect("a URL");
    let connection = client.get_multiplexed_async_connection().await.expect("it connects");
    redis(connection, prefix).await
}
