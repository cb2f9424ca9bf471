//! The resources that a server spends during a measurement.

use std::fs;
use std::time::{Duration, Instant};

use queuekit_postgres::tokio_postgres::Client;

/// The resources that all connections spent together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) time: Duration,
    /// Of all processes of the server; zero if it is not on this machine.
    pub(crate) cpu: Duration,
    /// Bytes of its log.
    pub(crate) wal: u64,
}

pub(crate) struct Meter<'a> {
    client: &'a Client,
    cpu: Duration,
    wal: u64,
    started: Instant,
}

impl<'a> Meter<'a> {
    pub(crate) async fn start(client: &'a Client) -> Self {
        let (cpu, wal) = (cpu(client).await, wal(client).await);
        Self { client, cpu, wal, started: Instant::now() }
    }

    pub(crate) async fn stop(self) -> Spent {
        let time = self.started.elapsed();
        let wal = wal(self.client).await - self.wal;
        Spent { time, cpu: cpu(self.client).await.saturating_sub(self.cpu), wal }
    }
}

async fn wal(client: &Client) -> u64 {
    let asked = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint";
    let row = client.query_one(asked, &[]).await.expect("the server tells its position");
    row.get::<_, i64>(0).unsigned_abs()
}

/// The first process of the server is the parent of all others.
async fn cpu(client: &Client) -> Duration {
    let row = client.query_one("SELECT pg_backend_pid()", &[]).await.expect("it has a process");
    let pid: i32 = row.get(0);
    let Some(first) = Process::read(&pid.to_string()).map(|own| own.parent) else {
        return Duration::ZERO;
    };
    let ended = Process::read(&first.to_string()).map_or(0, |first| first.ticks_of_children);
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = names.filter_map(|entry| entry.file_name().into_string().ok());
    let all = pids.filter_map(|pid| Process::read(&pid));
    let alive: u64 = all.filter(|process| process.parent == first).map(|each| each.ticks).sum();
    Duration::from_millis(10 * (alive + ended))
}

/// The figures of a process from Linux; ticks are 10 ms.
struct Process {
    parent: u32,
    ticks: u64,
    ticks_of_children: u64,
}

impl Process {
    fn read(pid: &str) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The second field is the program's name, which may contain anything; those wanted are the
        // 4th and the 14th to 17th.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |at: usize| fields.get(at - 3)?.parse::<u64>().ok();
        Some(Self {
            parent: u32::try_from(number(4)?).ok()?,
            ticks: number(14)? + number(15)?,
            ticks_of_children: number(16)? + number(17)?,
        })
    }
}
