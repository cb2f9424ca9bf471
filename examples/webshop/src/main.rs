//! A web shop whose slow work is done by jobs: axum, sqlx and Postgres. The README explains it.

mod jobs;
mod orders;
mod pages;

use std::env;
use std::time::Duration;

use queuekit::CancellationToken;
use sqlx::PgPool;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use jobs::{Mailer, Warehouse};
use orders::{Failure, Orders};
use pages::App;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    tracing_subscriber::fmt::init();
    let url = env::var("DATABASE_URL").map_err(|_| "set DATABASE_URL to a Postgres database")?;
    let address = env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());

    // Creates the tables of queuekit, in the schema `queuekit`, if they do not exist.
    let client = queuekit::connect(&url).await?;
    let pool = PgPool::connect(&url).await?;
    jobs::create_queues(&pool).await?;
    jobs::declare(&client).await?;
    let orders = Orders::open(pool.clone()).await?;

    let stop = CancellationToken::new();
    tokio::spawn(stop_at_signal(stop.clone()));

    let listener = TcpListener::bind(&address).await?;
    println!("open http://{address}");
    let routes = pages::routes(App { orders, client: client.clone() });
    let server = axum::serve(listener, routes)
        .with_graceful_shutdown(stop.clone().cancelled_owned())
        .into_future();

    let second = Duration::from_secs(1);
    let (mailer, warehouse) = (Mailer::new(second), Warehouse { step: 2 * second });
    let worker = jobs::worker(&client, mailer, warehouse, &pool);
    let work = async {
        let ended = worker.run_until(stop.cancelled()).await;
        stop.cancel(); // if the worker has failed, the server stops too
        ended
    };

    let (served, worked) = tokio::join!(server, work);
    served?;
    println!("stopped: {} jobs completed", worked?.completed);
    client.close().await?;
    Ok(())
}

/// Waits for Ctrl-C, or for SIGTERM, which systemd, Docker and Kubernetes send.
async fn stop_at_signal(stop: CancellationToken) {
    let mut terminate = signal(SignalKind::terminate()).expect("SIGTERM can be handled");
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
    stop.cancel();
}

#[cfg(test)]
mod shop_tests;
