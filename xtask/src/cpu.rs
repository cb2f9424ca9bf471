use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use crate::error::{Error, Result};

/// The kernel counts processor time in ticks of 10 ms.
const TICK_MS: u64 = 10;

/// A process: the one that has started it, and the ticks of it and of those that it has waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    parent: u32,
    ticks: u64,
}

/// The processor time of all that this process has started, directly or not, whether it still runs
/// or not: of programs, and of the servers that they talk to.
pub(crate) fn of_descendants() -> Result<Duration> {
    let failed =
        |error: std::io::Error| Error::failed(format!("pairs needs Linux: /proc: {error}"));
    let mut processes = BTreeMap::new();
    for entry in fs::read_dir("/proc").map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        // One that has ended meanwhile is of no account.
        let Ok(stat) = fs::read_to_string(format!("/proc/{id}/stat")) else { continue };
        processes.extend(read(&stat).map(|process| (id, process)));
    }
    Ok(Duration::from_millis(TICK_MS * ticks_below(&processes, std::process::id())))
}

/// The processor time of a child that was not waited for yet, and of those that it has waited for.
/// None where there is no /proc.
pub(crate) fn of_child(id: u32) -> Option<Duration> {
    let process = read(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)?;
    Some(Duration::from_millis(TICK_MS * process.ticks))
}

/// The second field is the program's name, which may contain anything; the parent is the 4th, and
/// utime, stime, cutime and cstime are the 14th to the 17th.
fn read(stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11..15)?.iter().map(|ticks| ticks.parse::<u64>());
    let ticks = ticks.sum::<std::result::Result<u64, _>>().ok()?;
    Some(Process { parent: fields.get(1)?.parse().ok()?, ticks })
}

fn ticks_below(processes: &BTreeMap<u32, Process>, root: u32) -> u64 {
    let is_below = |mut id: u32| {
        // No chain is longer than there are processes.
        for _ in 0..processes.len() {
            if id == root {
                return true;
            }
            let Some(process) = processes.get(&id) else { return false };
            id = process.parent;
        }
        false
    };
    processes.iter().filter(|(id, _)| is_below(**id)).map(|(_, process)| process.ticks).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_process_is_read_behind_its_name() {
        let stat = "7 (a) b (c) S 3 7 7 0 -1 4194304 1 2 0 0 10 20 300 4000 20 0 1 0";
        assert_eq!(read(stat), Some(Process { parent: 3, ticks: 4330 }));
        assert_eq!(read("7 (a) S 3"), None);
    }

    #[test]
    fn only_descendants_count() {
        let process = |parent, ticks| Process { parent, ticks };
        let all = BTreeMap::from([
            (1, process(0, 1)),
            (2, process(1, 10)),
            (3, process(2, 100)),
            (4, process(3, 1000)),
            (5, process(1, 10_000)),
        ]);
        assert_eq!(ticks_below(&all, 2), 1110);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_that_has_ended_counts() {
        let before = of_descendants().unwrap();
        let spin = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done";
        let status = std::process::Command::new("sh").args(["-c", spin]).status().unwrap();
        assert!(status.success());
        assert!(of_descendants().unwrap() > before);
    }
}
