//! The cost of an idle worker.

use std::time::Duration;

use criterion::{Criterion, SamplingMode};
use queuekit_core::Client;

use crate::BenchStore;
use crate::cpu::process_cpu;
use crate::pickup::idle_worker;
use crate::setup::{group, runtime};

/// Long enough, because the kernel counts CPU time in steps of 10 ms.
const WAIT: Duration = Duration::from_secs(1);

/// The CPU time of the whole process while its one worker waits.
pub(crate) fn idle<S: BenchStore>(criterion: &mut Criterion) {
    if process_cpu().is_none() {
        println!("{}/idle is not measured: it needs /proc/self/stat", S::NAME);
        return;
    }
    let runtime = runtime();
    let mut group = group::<S>(criterion, "idle");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    let (mut used, mut waited) = (Duration::ZERO, Duration::ZERO);
    let mut worker = None;
    group.bench_function("waiting worker, CPU per second", |bencher| {
        // One for all samples: what is measured is the process.
        worker.get_or_insert_with(|| {
            idle_worker(&runtime, &Client::shared(runtime.block_on(S::open())))
        });
        bencher.iter_custom(|times| {
            let before = process_cpu().unwrap_or_default();
            std::thread::sleep(WAIT * times as u32);
            let spent = process_cpu().unwrap_or_default().saturating_sub(before);
            used += spent;
            waited += WAIT * times as u32;
            // Criterion cannot bear a time of zero.
            spent.max(Duration::from_nanos(1))
        });
    });
    if !waited.is_zero() {
        let percent = used.as_secs_f64() / waited.as_secs_f64() * 100.0;
        println!("a waiting worker used {percent:.2} % of a core over {waited:?}");
    }
}
