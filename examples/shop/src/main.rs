mod receipts;

use std::error::Error;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use deadpool_postgres::{Manager, Pool};
use queuekit::postgres::PostgresStore;
use queuekit::prelude::*;
use queuekit::{CancellationToken, Status};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_postgres::NoTls;

use receipts::{Receipts, SendReceipt};

const TABLES: &str = "CREATE TABLE IF NOT EXISTS orders (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, email text NOT NULL, item text NOT NULL
)";

#[derive(Clone)]
struct App {
    pool: Pool,
    store: PostgresStore,
    client: Client,
}

#[derive(Deserialize)]
struct NewOrder {
    email: String,
    item: String,
}

#[derive(Serialize)]
struct Placed {
    order: i64,
    job: JobId,
}

/// Stores the order and its job: both, or neither.
async fn place_order(
    State(app): State<App>,
    Json(new): Json<NewOrder>,
) -> Result<(StatusCode, Json<Placed>), Failure> {
    let mut database = app.pool.get().await?;
    let tx = database.transaction().await?;
    let insert = "INSERT INTO orders (email, item) VALUES ($1, $2) RETURNING id";
    let order: i64 = tx.query_one(insert, &[&new.email, &new.item]).await?.get(0);

    let jobs = [JobDraft::of(&SendReceipt { order, email: new.email }).build()?];
    // Fails if the queue is full; dropping the transaction rolls it back.
    app.store.enqueue_in(&tx, &jobs).await?.ids()?;
    app.store.notify_in(&tx, &jobs).await?;
    tx.commit().await?;
    Ok((StatusCode::CREATED, Json(Placed { order, job: jobs[0].id() })))
}

#[derive(Serialize)]
struct JobView {
    status: Status,
    attempts: u32,
    last_error: Option<String>,
}

async fn show_job(State(app): State<App>, Path(id): Path<JobId>) -> Result<Response, Failure> {
    let Some(job) = app.client.jobs().get(id).await? else {
        return Ok(StatusCode::NOT_FOUND.into_response());
    };
    let last_error = job.errors.last().map(|failure| failure.error.to_string());
    let view = JobView { status: job.status, attempts: job.attempts, last_error };
    Ok(Json(view).into_response())
}

/// Any error of a route.
struct Failure(Box<dyn Error + Send + Sync>);

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        eprintln!("{}", self.0);
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt::init();
    let url = std::env::var("DATABASE_URL")?;
    let pool = Pool::builder(Manager::new(url.parse()?, NoTls)).build()?;
    pool.get().await?.batch_execute(TABLES).await?;

    let store = PostgresStore::connect_url(&url).await?;
    let client = Client::new(store.clone());
    let routes = Router::new()
        .route("/orders", post(place_order))
        .route("/jobs/{id}", get(show_job))
        .with_state(App { pool, store, client: client.clone() });

    let stop = CancellationToken::new();
    tokio::spawn(stop_at_signal(stop.clone()));

    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    let stopped = stop.clone().cancelled_owned();
    let server = axum::serve(listener, routes).with_graceful_shutdown(stopped);

    let worker = Worker::new(client.clone()).name("shop").handle(Receipts::default());
    let work = async {
        let ended = worker.run_until(stop.cancelled()).await;
        stop.cancel(); // if the worker has failed, the server stops too
        ended
    };

    let (served, worked) = tokio::join!(server.into_future(), work);
    served?;
    println!("stopped: {} jobs completed", worked?.completed);
    client.close().await?;
    Ok(())
}

/// Waits for Ctrl-C, or for SIGTERM, which systemd and Kubernetes send.
async fn stop_at_signal(stop: CancellationToken) {
    let mut terminate = signal(SignalKind::terminate()).expect("SIGTERM can be handled");
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
    stop.cancel();
}
