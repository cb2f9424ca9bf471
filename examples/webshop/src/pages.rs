//! The pages: a form for orders, and a page for each order that shows how far it is.

use askama::Template;
use axum::extract::{Path, State as Of};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Form, Router};
use queuekit::{Client, ErrorKind, Job, JobId, State};
use serde::Deserialize;

use crate::orders::{Failure, Order, Orders};

#[derive(Clone)]
pub struct App {
    pub orders: Orders,
    pub client: Client,
}

pub fn routes(app: App) -> Router {
    Router::new()
        .route("/", get(shop))
        .route("/orders", post(place_order))
        .route("/orders/{id}", get(show_order))
        .route("/orders/{id}/cancel", post(cancel_order))
        .with_state(app)
}

#[derive(Template)]
#[template(path = "shop.html")]
struct ShopPage {
    orders: Vec<Order>,
    reports: Vec<(String, i64)>,
}

async fn shop(Of(app): Of<App>) -> Result<Response, Problem> {
    page(&ShopPage { orders: app.orders.latest().await?, reports: app.orders.reports().await? })
}

#[derive(Deserialize)]
struct NewOrder {
    customer: String,
    item: String,
}

async fn place_order(Of(app): Of<App>, Form(new): Form<NewOrder>) -> Result<Response, Problem> {
    let fits = |text: &str| (1..=200).contains(&text.len());
    if !fits(&new.customer) || !fits(&new.item) {
        let message = "customer and item have 1 to 200 bytes each";
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, message).into_response());
    }
    let order = app.orders.place(&new.customer, &new.item).await?;
    Ok(Redirect::to(&format!("/orders/{order}")).into_response())
}

#[derive(Template)]
#[template(path = "order.html")]
struct OrderPage {
    order: Order,
    confirmation: JobView,
    packing: JobView,
}

/// What the page shows of a job.
struct JobView {
    status: String,
    /// What a handler reported, returned, or failed with.
    text: String,
    percent: u8,
    has_ended: bool,
}

async fn show_order(Of(app): Of<App>, Path(id): Path<i64>) -> Result<Response, Problem> {
    let Some(order) = app.orders.get(id).await? else {
        return Ok((StatusCode::NOT_FOUND, "there is no such order").into_response());
    };
    let confirmation = app.view(order.confirmation).await?;
    let packing = app.view(order.packing).await?;
    page(&OrderPage { order, confirmation, packing })
}

/// Cancels the packing, unless it has ended.
async fn cancel_order(Of(app): Of<App>, Path(id): Path<i64>) -> Result<Response, Problem> {
    if let Some(order) = app.orders.get(id).await? {
        match app.client.jobs().cancel(order.packing).await {
            Ok(_) => {}
            Err(error) if *error.kind() == ErrorKind::Conflict => {} // it has ended
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Redirect::to(&format!("/orders/{id}")).into_response())
}

impl App {
    async fn view(&self, id: JobId) -> Result<JobView, Failure> {
        let job = self.client.jobs().get(id).await?;
        Ok(job.as_ref().map_or_else(JobView::removed, JobView::of))
    }
}

impl JobView {
    fn of(job: &Job) -> Self {
        let result = job.result::<String>().ok();
        let failure = job.errors.last().map(|failure| failure.error.to_string());
        let progress = job.progress.as_ref();
        let message = progress.map(|progress| progress.message.clone());
        let percent = progress.map_or(0.0, |progress| progress.fraction * 100.0);
        Self {
            status: job.status.to_string(),
            text: result.or(failure).or(message).unwrap_or_default(),
            percent: if job.state == State::Completed { 100 } else { percent as u8 },
            has_ended: job.finished_at.is_some(),
        }
    }

    /// An ended job is removed once the retention of its queue is over.
    fn removed() -> Self {
        Self { status: "removed".into(), text: String::new(), percent: 0, has_ended: true }
    }
}

fn page(template: &impl Template) -> Result<Response, Problem> {
    Ok(Html(template.render()?).into_response())
}

/// Any error of a route: logged, and answered with 500.
struct Problem(Failure);

impl<E: Into<Failure>> From<E> for Problem {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        eprintln!("{}", self.0);
        (StatusCode::INTERNAL_SERVER_ERROR, "something went wrong; try again").into_response()
    }
}
