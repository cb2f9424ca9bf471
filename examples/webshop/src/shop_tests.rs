//! The whole shop, in a database of its own: forms in, pages and rows out.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt;
use queuekit::State;
use queuekit::prelude::*;
use queuekit_integration_tests::servers::{self, Database};
use sqlx::PgPool;
use tower::ServiceExt;

use crate::jobs::{self, Mailer, Purchases, Reports, Restock, SalesReport, Warehouse};
use crate::orders::{Failure, Orders};
use crate::pages::{self, App};

struct Shop {
    database: Database,
    pool: PgPool,
    client: Client,
    routes: Router,
}

impl Shop {
    /// None, with a line on stderr, if this machine has no Postgres.
    async fn open() -> Result<Option<Self>, Failure> {
        let Some(server) = servers::postgres() else { return Ok(None) };
        let database = server.database().await;
        // The server of the tests does not write to disk.
        let url = format!("{}?allow_volatile=on", database.url());
        let client = queuekit::connect(&url).await?;
        let pool = PgPool::connect(&database.url()).await?;
        jobs::create_queues(&pool).await?;
        jobs::declare(&client).await?;
        let orders = Orders::open(pool.clone()).await?;
        let routes = pages::routes(App { orders, client: client.clone() });
        Ok(Some(Self { database, pool, client, routes }))
    }

    async fn close(self) -> Result<(), Failure> {
        self.client.close().await?;
        self.pool.close().await;
        self.database.drop().await;
        Ok(())
    }

    /// Runs all jobs that are due.
    async fn work(&self) -> queuekit::Result<()> {
        let (mailer, warehouse) = (Mailer::new(Duration::ZERO), Warehouse { step: Duration::ZERO });
        jobs::worker(&self.client, mailer, warehouse, &self.pool).run_until_idle().await?;
        Ok(())
    }

    async fn get(&self, path: &str) -> Result<String, Failure> {
        let response = self.routes.clone().oneshot(Request::get(path).body(Body::empty())?).await?;
        assert_eq!(response.status(), StatusCode::OK);
        Ok(String::from_utf8(response.into_body().collect().await?.to_bytes().to_vec())?)
    }

    async fn post(&self, path: &str, form: &'static str) -> Result<Response, Failure> {
        let request = Request::post(path)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(form))?;
        Ok(self.routes.clone().oneshot(request).await?)
    }

    /// Places an order, and returns the path of its page.
    async fn place(&self) -> Result<String, Failure> {
        let response = self.post("/orders", "customer=ada%40example.org&item=a+kettle").await?;
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        Ok(response.headers()[header::LOCATION].to_str()?.to_owned())
    }

    async fn count(&self, table: &str) -> Result<i64, Failure> {
        let select = format!("SELECT count(*) FROM {table}");
        Ok(sqlx::query_scalar(&select).fetch_one(&self.pool).await?)
    }
}

#[tokio::test]
async fn an_order_is_confirmed_and_packed() -> Result<(), Failure> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    let order = shop.place().await?;
    assert!(shop.get(&order).await?.contains("ready"));
    shop.work().await?;
    let page = shop.get(&order).await?;
    assert!(page.contains("sent to ada@example.org") && page.contains("parcel 1"), "{page}");
    assert!(shop.get("/").await?.contains("a kettle"));
    shop.close().await
}

#[tokio::test]
async fn an_order_whose_jobs_are_refused_is_not_stored() -> Result<(), Failure> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    let full = QueuePatch::default().max_pending(0);
    shop.client.queues().configure("packing", &full).await?;
    let response = shop.post("/orders", "customer=ada%40example.org&item=a+kettle").await?;
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(shop.count("orders").await?, 0);
    assert_eq!(shop.client.jobs().list(&JobFilter::default()).await?.items.len(), 0);
    shop.close().await
}

#[tokio::test]
async fn the_packing_of_an_order_can_be_cancelled() -> Result<(), Failure> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    let order = shop.place().await?;
    for _ in 0..2 {
        let response = shop.post(&format!("{order}/cancel"), "").await?;
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
    }
    shop.work().await?;
    let page = shop.get(&order).await?;
    assert!(page.contains("cancelled") && page.contains("sent to ada@example.org"), "{page}");
    shop.close().await
}

#[tokio::test]
async fn a_report_counts_the_orders_since_the_one_before() -> Result<(), Failure> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    for orders in [2, 1] {
        for _ in 0..orders {
            shop.place().await?;
        }
        let id = shop.client.schedules().run_now("sales-report").await?;
        shop.work().await?;
        let job = shop.client.jobs().get(id).await?.expect("the job is stored");
        assert_eq!(job.state, State::Completed);
        assert!(shop.get("/").await?.contains(&format!("{orders} orders")));
    }
    assert_eq!(shop.count("sales").await?, 2);
    shop.close().await
}

#[tokio::test]
async fn a_report_whose_job_is_gone_writes_nothing() -> Result<(), Failure> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    shop.client.schedules().run_now("sales-report").await?;
    let (client, reports) = (shop.client.clone(), Reports { pool: shop.pool.clone() });
    let worker = Worker::new(shop.client.clone()).handle(move |job: SalesReport, ctx: Ctx| {
        let (client, reports) = (client.clone(), reports.clone());
        async move {
            // What another worker does that takes the job over, while this one runs.
            client.jobs().delete_forced(ctx.id()).await?;
            reports.call(job, ctx).await
        }
    });
    assert_eq!(worker.run_until_idle().await?.lease_lost, 1);
    assert_eq!(shop.count("sales").await?, 0);
    shop.close().await
}

#[tokio::test]
async fn a_purchase_is_written_down_once_though_its_job_runs_again() -> Result<(), Failure> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    shop.place().await?;
    let id = shop.client.schedules().run_now("restock").await?;
    let purchases = Purchases { pool: shop.pool.clone() };
    let worker = Worker::new(shop.client.clone()).handle(move |job: Restock, ctx: Ctx| {
        let purchases = purchases.clone();
        async move {
            let is_first = ctx.attempt() == 1;
            let told = purchases.call(job, ctx).await?;
            match is_first {
                true => Err(JobError::retry_after("the line was cut", Duration::ZERO)),
                false => Ok(told),
            }
        }
    });
    worker.run_until_idle().await?;
    let job = shop.client.jobs().get(id).await?.expect("the job is stored");
    assert_eq!((job.state, job.attempts), (State::Completed, 2));
    assert!(job.result::<String>()?.starts_with("told the supplier: 1 pieces"));
    assert_eq!(shop.count("purchases").await?, 1);
    shop.close().await
}

#[tokio::test]
async fn a_form_without_an_item_is_refused() -> Result<(), Failure> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    let response = shop.post("/orders", "customer=ada%40example.org&item=").await?;
    assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(shop.count("orders").await?, 0);
    shop.close().await
}
