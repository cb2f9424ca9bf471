use std::env;
use std::path::PathBuf;

/// A file system in memory, on Linux.
const MEMORY: &str = "/dev/shm";
/// Some hundred databases, and the log for them.
const ROOM: u64 = 4 << 30;

/// Where files are to be that need not last: in memory, if it has room and nobody has said where.
///
/// To make a database is to write 7 MB, which tests do hundreds of times.
pub(super) fn quick() -> PathBuf {
    let memory = (env::var_os("TMPDIR").is_none() && has_room(MEMORY)).then(|| MEMORY.into());
    memory.unwrap_or_else(env::temp_dir)
}

fn has_room(path: &str) -> bool {
    let room = rustix::fs::statvfs(path).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    room.is_ok_and(|room| room >= ROOM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_has_no_room() {
        assert!(!has_room("/nowhere"));
    }
}
