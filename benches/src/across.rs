//! How long a job from another process waits for an idle worker.

use std::env;
use std::io::{BufRead, Write, stdin};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use criterion::{Criterion, SamplingMode};
use queuekit_core::Client;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::BenchStore;
use crate::pickup::{idle_worker, print_latencies};
use crate::setup::{Noop, group, runtime};

/// Tells a process that it is the one that enqueues, and where.
const ADDRESS: &str = "QUEUEKIT_BENCH_ADDRESS";

/// Longer than stores look for the work of others, so that each job meets another moment of it.
const PAUSE: Duration = Duration::from_micros(27_300);

/// Measures from before the request to the other process to enqueue until the handler starts.
pub(crate) fn pickup<S: BenchStore>(criterion: &mut Criterion) {
    let runtime = runtime();
    let mut group = group::<S>(criterion, "pickup");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    let mut latencies = Vec::new();
    group.bench_function("idle worker, another process", |bencher| {
        let Some((store, address)) = runtime.block_on(S::open_shared()) else {
            println!("{}: no other process can open this store", S::NAME);
            return bencher.iter(|| ());
        };
        let mut starts = idle_worker(&runtime, &Client::shared(store));
        let mut other = Other::start(&address);
        bencher.iter_custom(|jobs| {
            let measured: Vec<_> = (0..jobs).map(|_| other.measure(&mut starts)).collect();
            latencies.extend_from_slice(&measured);
            measured.iter().sum()
        });
    });
    print_latencies("idle pickup across processes", &mut latencies);
}

/// Whether this process is the other one; then it enqueues a job per line it reads, and ends.
pub fn is_other<S: BenchStore>() -> bool {
    let Ok(address) = env::var(ADDRESS) else {
        return false;
    };
    runtime().block_on(async {
        let client = Client::shared(S::open_at(&address).await);
        for (number, line) in stdin().lock().lines().enumerate() {
            line.expect("the benchmark speaks");
            client.enqueue(Noop { number }).await.expect("enqueue");
        }
    });
    true
}

struct Other {
    child: Child,
    commands: ChildStdin,
}

impl Other {
    fn start(address: &str) -> Self {
        let program = env::current_exe().expect("this program has a path");
        let mut command = Command::new(program);
        command.env(ADDRESS, address).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().expect("the other process starts");
        let commands = child.stdin.take().expect("its input is ours");
        Self { child, commands }
    }

    fn measure(&mut self, starts: &mut UnboundedReceiver<Instant>) -> Duration {
        std::thread::sleep(PAUSE);
        let before = Instant::now();
        self.commands.write_all(b"\n").expect("the other process listens");
        starts.blocking_recv().expect("the handler lives") - before
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
