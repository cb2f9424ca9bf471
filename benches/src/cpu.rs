//! The cost of a worker beyond its store.

use std::fs;
use std::time::Duration;

use criterion::{Criterion, SamplingMode};
use queuekit_core::Client;

use crate::setup::{CHUNK, fill, group, runtime};
use crate::{BenchStore, reserve, worker};

/// The CPU time of the whole process while a worker drains a queue, less that of the same calls
/// to the store without a worker. The kernel counts it in steps of 10 ms, so the figure to read is
/// the one printed at the end, over all runs.
pub(crate) fn cpu_per_job<S: BenchStore>(criterion: &mut Criterion) {
    if process_cpu().is_none() {
        println!("{}/cpu is not measured: it needs /proc/self/stat", S::NAME);
        return;
    }
    let runtime = runtime();
    let mut group = group::<S>(criterion, "cpu");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    let (mut beyond, mut within, mut runs) = (Duration::ZERO, Duration::ZERO, 0);
    group.bench_function(format!("worker beyond store, {} jobs", worker::jobs()), |bencher| {
        bencher.iter_custom(|times| {
            let mut sum = Duration::ZERO;
            for _ in 0..times {
                let with_worker = runtime.block_on(worker_cpu::<S>());
                let store_alone = runtime.block_on(store_cpu::<S>());
                sum += with_worker.saturating_sub(store_alone);
                within += store_alone;
                runs += 1;
            }
            beyond += sum;
            // Criterion cannot bear a time of zero.
            sum.max(Duration::from_nanos(1))
        });
    });
    if runs > 0 {
        let per_job = |sum: Duration| sum.as_secs_f64() * 1e6 / (runs * worker::jobs()) as f64;
        println!(
            "CPU per job over {runs} runs: {:.2} us in the worker beyond its store, \
             {:.2} us in the store (reserve and ack in batches of {})",
            per_job(beyond),
            per_job(within),
            S::SLOTS.min(CHUNK)
        );
    }
}

async fn worker_cpu<S: BenchStore>() -> Duration {
    let client = Client::shared(S::open().await);
    fill(client.backend(), worker::jobs(), |job| job).await;
    let before = process_cpu().unwrap_or_default();
    worker::drain::<S>(&client).await;
    process_cpu().unwrap_or_default().saturating_sub(before)
}

async fn store_cpu<S: BenchStore>() -> Duration {
    let store = S::open().await;
    fill(&store, worker::jobs(), |job| job).await;
    let before = process_cpu().unwrap_or_default();
    reserve::drain(&store, S::SLOTS.min(CHUNK)).await;
    process_cpu().unwrap_or_default().saturating_sub(before)
}

/// User and system time of all threads there are and were; none where Linux does not report them.
pub(crate) fn process_cpu() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the program's name, which may contain anything; utime and stime are
    // the 14th and the 15th, in ticks of 10 ms.
    let fields = stat.rsplit_once(')')?.1.split_whitespace();
    let ticks: Vec<u64> = fields.skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    Some(Duration::from_millis(10 * ticks.iter().sum::<u64>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn cpu_time_grows_with_work() {
        let before = process_cpu().unwrap();
        let mut spun = 0_u64;
        while process_cpu().unwrap() == before {
            spun = std::hint::black_box(spun + 1);
        }
        assert!(process_cpu().unwrap() - before < Duration::from_secs(5));
    }
}
