//! The scripts, each after the shared pieces that it needs.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use queuekit_core::Limits;
use redis::Script;

use crate::layout::lua::inline;

/// The name in scripts of how many error groups of a queue are kept.
const MOST_GROUPS: &str = "MOST_ERROR_GROUPS";
/// The pieces before every script that works on a queue.
const QUEUE: &str =
    concat!(include_str!("../lua/lib/base.lua"), include_str!("../lua/lib/queue.lua"));

/// The effect of a script, by which the server decides when it may not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// It stores more: does not run when the server is full.
    Adds,
    /// It makes room or releases: runs also when the server is full.
    Frees,
    /// It only reads: runs also where nothing may be written, because replicas are missing or the
    /// disk has failed.
    Reads,
}

/// A piece of lua/lib/ that is created at its first use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// Its name in scripts.
    name: &'static str,
    file: &'static str,
    text: &'static str,
}

/// The parts of a script.
#[derive(Clone, Copy, Debug)]
struct Parts {
    does: Does,
    /// Whether it works on a queue.
    of_queue: bool,
    pieces: &'static [Piece],
    /// The script itself, after other scripts that it continues.
    text: &'static str,
}

macro_rules! pieces {
    ($($piece:ident = $name:literal $file:literal,)*) => {
        $(const $piece: Piece = Piece {
            name: $name,
            file: concat!("lib/", $file, ".lua"),
            text: include_str!(concat!("../lua/lib/", $file, ".lua")),
        };)*
        const PIECES: &[Piece] = &[$($piece),*];
    };
}

pieces! {
    JOB = "Job" "job",
    PARTITION_KEY = "PartitionKey" "partition_key",
    CHANGE = "Change" "change",
    RESERVE = "Reserve" "reserve",
    PLAIN = "Plain" "plain",
    FRONTIER = "Frontier" "frontier",
    VIEW = "View" "view",
    PAYLOAD = "Payload" "payload",
    RANK = "Rank" "rank",
    RECENT = "Recent" "recent",
}

/// Each script with its effect, whether it works on a queue, its pieces, and its files in order.
macro_rules! scripts {
    ($($script:ident: $does:ident $([$($piece:ident),*])? $($file:literal)+,)*) => {
        /// A script of the folder lua/.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Lua {
            $($script),*
        }

        impl Lua {
            const ALL: &[Self] = &[$(Self::$script),*];

            fn parts(self) -> Parts {
                match self {
                    $(Self::$script => Parts {
                        does: Does::$does,
                        of_queue: scripts!(@of_queue $([$($piece),*])?),
                        pieces: &[$($($piece),*)?],
                        text: concat!($(include_str!(concat!("../lua/", $file, ".lua"))),+),
                    }),*
                }
            }
        }
    };
    (@of_queue) => { false };
    (@of_queue [$($piece:ident),*]) => { true };
}

scripts! {
    Enqueue: Adds [JOB, PARTITION_KEY, CHANGE] "lib/enqueue" "enqueue",
    EnqueuePlain: Adds "lib/base" "enqueue_plain",
    // The fence lets the jobs of a schedule's change through once.
    EnqueueOnce: Adds [JOB, PARTITION_KEY, CHANGE] "fence" "lib/enqueue" "enqueue",
    Exchange: Frees [JOB, PARTITION_KEY, CHANGE, RECENT, RESERVE, PLAIN, PAYLOAD] "exchange",
    Actions: Frees [JOB, PARTITION_KEY, CHANGE, RECENT] "actions",
    Clear: Frees [JOB, PARTITION_KEY] "clear",
    Extend: Frees [JOB] "extend",
    Report: Adds [] "report",
    CheckpointPut: Adds [] "lib/checkpoints" "checkpoint_put",
    Checkpoints: Reads [] "checkpoints",
    CheckpointsList: Reads [] "lib/checkpoints" "checkpoints_list",
    Prune: Frees [JOB, PARTITION_KEY, CHANGE, RECENT] "prune",
    Configure: Frees [] "configure",
    Place: Frees [PARTITION_KEY, RANK] "place",
    Remove: Frees [] "remove",
    Figures: Reads [] "figures",
    PartitionKeys: Reads [PARTITION_KEY, FRONTIER] "partition_keys",
    Get: Reads [JOB, PARTITION_KEY, FRONTIER, VIEW, PAYLOAD] "get",
    States: Reads [JOB] "states",
    List: Reads [JOB, PARTITION_KEY, FRONTIER, VIEW, PAYLOAD, RANK] "list",
    Ends: Reads [RANK] "ends",
    Why: Reads [JOB, PARTITION_KEY] "why",
    Register: Adds "register",
    Beat: Frees "beat",
    WorkerForget: Frees "worker_forget",
    Workers: Reads "workers",
    Control: Frees "control",
    Schedules: Reads [] "schedules",
    SchedulePut: Adds "schedule_put",
    Emit: Adds [JOB, PARTITION_KEY, CHANGE] "lib/enqueue" "emit",
    Events: Reads [] "events",
    EventAges: Reads [] "event_ages",
    EventForget: Frees [] "event_forget",
    EventSettings: Adds [] "event_settings",
    AuditAdd: Adds "audit_add",
    Audit: Reads "audit",
    ErrorGroups: Reads [] "error_groups",
    Totals: Frees [] "totals",
    HistoryMark: Adds "history_mark",
    HistoryPut: Adds "history_put",
    HistoryAdd: Adds "history_add",
    HistoryOfQueue: Reads "history_of_queue",
    HistoryForget: Frees "history_forget",
}

impl Lua {
    /// Whether it answers payloads of jobs, for which it needs the data of events.
    pub(crate) fn tells_payloads(self) -> bool {
        self.parts().pieces.contains(&PAYLOAD)
    }
}

/// The texts for some servers, each put together at its first use: a command needs few of them.
#[derive(Debug)]
pub(crate) struct Scripts {
    /// Whether these servers read the flags in a script's first line (7.0).
    flags: bool,
    /// Lua that tests put before every script.
    clock: String,
    most_groups: String,
    texts: Vec<OnceLock<Text>>,
}

#[derive(Debug)]
struct Text {
    hash: String,
    text: String,
}

/// The texts of this process. Stores with the same settings share them: a test process opens
/// hundreds of stores, and would put each text together as often.
static SCRIPTS: Mutex<Vec<Arc<Scripts>>> = Mutex::new(Vec::new());

impl Scripts {
    /// The texts for servers that do or do not read flags. Limits that scripts apply are written
    /// into them.
    pub(crate) fn of(flags: bool, clock: &str, limits: &Limits) -> Arc<Self> {
        let most_groups = limits.error_groups().to_string();
        let mut all = SCRIPTS.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |scripts: &&Arc<Self>| {
            scripts.flags == flags && scripts.clock == clock && scripts.most_groups == most_groups
        };
        if let Some(scripts) = all.iter().find(same) {
            return Arc::clone(scripts);
        }
        let texts = Lua::ALL.iter().map(|_| OnceLock::new()).collect();
        let scripts = Arc::new(Self { flags, clock: clock.to_owned(), most_groups, texts });
        all.push(Arc::clone(&scripts));
        scripts
    }

    pub(crate) fn hash(&self, script: Lua) -> &str {
        &self.get(script).hash
    }

    pub(crate) fn text(&self, script: Lua) -> &str {
        &self.get(script).text
    }

    fn get(&self, script: Lua) -> &Text {
        self.texts[script as usize].get_or_init(|| {
            let text = self.put_together(script.parts());
            Text { hash: Script::new(&text).get_hash().to_owned(), text }
        })
    }

    fn put_together(&self, parts: Parts) -> String {
        let first = match parts.does {
            _ if !self.flags => "",
            Does::Adds => "#!lua\n",
            Does::Frees => "#!lua flags=allow-oom\n",
            Does::Reads => "#!lua flags=no-writes,allow-oom\n",
        };
        let joined = parts.joined().replace(MOST_GROUPS, &self.most_groups);
        format!("{first}{}{}", self.clock, inline(&joined))
    }
}

impl Parts {
    fn joined(&self) -> String {
        joined(self.of_queue, self.pieces, self.text)
    }
}

fn joined(of_queue: bool, pieces: &[Piece], text: &str) -> String {
    let queue = if of_queue { QUEUE } else { "" };
    let made = |piece: &Piece| {
        let Piece { name, text, .. } = piece;
        // Queues of other jobs do without it.
        let only = if *piece == PAYLOAD { "KEYS[QUEUE.next] and " } else { "" };
        format!("{name} = {only}piece(function()\n{text}end)\n")
    };
    let pieces: String = pieces.iter().map(made).collect();
    // Inside a function, new closures copy its upvalues; in the main chunk Lua would search the
    // stack for each.
    format!("{queue}return (function()\n{pieces}{text}end)()\n")
}

/// A script of a test with some pieces, as `Scripts` would put it together for a server without
/// flags.
pub(crate) fn of_test(pieces: &[&str], text: &'static str) -> String {
    let pieces: Vec<Piece> =
        PIECES.iter().filter(|piece| pieces.contains(&piece.name)).copied().collect();
    let most = Limits::default().error_groups().to_string();
    inline(&joined(true, &pieces, text).replace(MOST_GROUPS, &most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{keys, records};

    #[test]
    fn stores_of_the_same_settings_share_their_scripts() {
        let limits = Limits::default();
        let scripts = Scripts::of(true, "clock", &limits);
        assert!(Arc::ptr_eq(&scripts, &Scripts::of(true, "clock", &limits)));
        for other in [
            Scripts::of(false, "clock", &limits),
            Scripts::of(true, "", &limits),
            Scripts::of(true, "clock", &limits.with_error_groups(7)),
        ] {
            assert!(!Arc::ptr_eq(&scripts, &other));
        }
    }

    #[test]
    fn a_script_stands_behind_the_pieces_its_header_names() {
        for parts in Lua::ALL.iter().map(|script| script.parts()) {
            let lines = parts.text.lines().take_while(|line| line.starts_with("--"));
            let header: String = lines.collect();
            assert_eq!(parts.of_queue, header.contains("lib/queue.lua"), "{header}");
            for piece in PIECES {
                let file = piece.file;
                let is_named = header.contains(file);
                assert_eq!(parts.pieces.contains(piece), is_named, "{file}: {header}");
            }
        }
    }

    #[test]
    fn a_script_is_sent_without_names_of_the_layout() {
        let records = records().into_iter().map(|record| record.name);
        let names: Vec<&str> = records.chain(keys().into_iter().map(|keys| keys.name)).collect();
        for script in Lua::ALL {
            let text = inline(&script.parts().joined());
            for line in text.lines().filter(|line| !line.trim_start().starts_with("--")) {
                let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || "_.".contains(c)));
                let left = words.filter_map(|word| word.split_once('.'));
                let left: Vec<_> = left.filter(|(name, _)| names.contains(name)).collect();
                assert!(left.is_empty(), "{script:?}: {line}");
            }
        }
    }
}
