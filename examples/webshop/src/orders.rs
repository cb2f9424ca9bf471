//! The orders, in tables of the application, next to those of queuekit.

use std::error::Error;

use queuekit::prelude::*;
use queuekit::transactions::Functions;
use sqlx::PgPool;

use crate::jobs::{PackOrder, SendConfirmation};

/// Any error of the application.
pub type Failure = Box<dyn Error + Send + Sync>;

pub struct Order {
    pub id: i64,
    pub customer: String,
    pub item: String,
    pub confirmation: JobId,
    pub packing: JobId,
}

#[derive(Clone)]
pub struct Orders {
    pool: PgPool,
}

impl Orders {
    /// Those in a database, in which this creates the tables if they do not exist.
    pub async fn open(pool: PgPool) -> Result<Self, Failure> {
        sqlx::raw_sql(include_str!("orders.sql")).execute(&pool).await?;
        Ok(Self { pool })
    }

    /// Stores an order and its two jobs: all three, or nothing.
    pub async fn place(&self, customer: &str, item: &str) -> Result<i64, Failure> {
        let mut tx = self.pool.begin().await?;
        let next = "SELECT nextval(pg_get_serial_sequence('orders', 'id'))";
        let order: i64 = sqlx::query_scalar(next).fetch_one(&mut *tx).await?;

        let confirm = SendConfirmation { order, customer: customer.into(), item: item.into() };
        let pack = PackOrder { order, item: item.into() };
        let jobs = [
            JobDraft::of(&confirm).partition_key("mail-service").build()?,
            JobDraft::of(&pack).partition_key(customer).build()?,
        ];

        let insert = "INSERT INTO orders (id, customer, item, confirmation, packing)
            OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, $5)";
        sqlx::query(insert)
            .bind(order)
            .bind(customer)
            .bind(item)
            .bind(jobs[0].id().to_string())
            .bind(jobs[1].id().to_string())
            .execute(&mut *tx)
            .await?;

        let enqueue = Functions::default().enqueue(&jobs)?;
        let answer: String =
            sqlx::query_scalar(enqueue.sql()).bind(enqueue.parameter()).fetch_one(&mut *tx).await?;
        // Fails if a queue is full; dropping the transaction rolls it back.
        enqueue.read(&answer)?.ids()?;
        tx.commit().await?;
        Ok(order)
    }

    pub async fn get(&self, id: i64) -> Result<Option<Order>, Failure> {
        let select = "SELECT id, customer, item, confirmation, packing FROM orders WHERE id = $1";
        let row: Option<Row> = sqlx::query_as(select).bind(id).fetch_optional(&self.pool).await?;
        row.map(order).transpose()
    }

    /// The newest orders, at most ten.
    pub async fn latest(&self) -> Result<Vec<Order>, Failure> {
        let select = "SELECT id, customer, item, confirmation, packing FROM orders
            ORDER BY id DESC LIMIT 10";
        let rows: Vec<Row> = sqlx::query_as(select).fetch_all(&self.pool).await?;
        rows.into_iter().map(order).collect()
    }

    /// How many orders the newest reports have counted, at most seven.
    pub async fn reports(&self) -> Result<Vec<(String, i64)>, Failure> {
        let select = "SELECT to_char(reported_at, 'YYYY-MM-DD HH24:MI'), orders FROM sales
            ORDER BY reported_at DESC LIMIT 7";
        Ok(sqlx::query_as(select).fetch_all(&self.pool).await?)
    }
}

type Row = (i64, String, String, String, String);

fn order((id, customer, item, confirmation, packing): Row) -> Result<Order, Failure> {
    let (confirmation, packing) = (confirmation.parse()?, packing.parse()?);
    Ok(Order { id, customer, item, confirmation, packing })
}
