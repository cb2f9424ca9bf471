//! The scripts, each after the shared pieces that it needs.

use redis::Script;

/// A script of the folder lua/.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lua {
    Enqueue,
    Exchange,
    Act,
    Clear,
    Extend,
    Report,
    Prune,
    Configure,
    Place,
    Remove,
    Figures,
    Lanes,
    Get,
    List,
    Why,
    Register,
    Beat,
    WorkerForget,
    Workers,
    Schedules,
    SchedulePut,
    EnqueueOnce,
    Emit,
    Events,
    EventAges,
    EventForget,
    EventSettings,
    AuditAdd,
    Audit,
}

impl Lua {
    /// Whether it answers payloads of jobs, for which it needs the data of events.
    pub(crate) fn tells_payloads(self) -> bool {
        SCRIPTS[self as usize].2.contains(&PAYLOAD)
    }
}

/// The piece before every script that works on a queue.
const QUEUE: &str = include_str!("../lua/lib/queue.lua");

/// A piece of lua/lib/ that is created at its first use: its name in scripts, and its text.
type Piece = (&'static str, &'static str);

const JOB: Piece = ("Job", include_str!("../lua/lib/job.lua"));
const LANE: Piece = ("Lane", include_str!("../lua/lib/lane.lua"));
const CHANGE: Piece = ("Change", include_str!("../lua/lib/change.lua"));
const RESERVE: Piece = ("Reserve", include_str!("../lua/lib/reserve.lua"));
const FRONTIER: Piece = ("Frontier", include_str!("../lua/lib/frontier.lua"));
const VIEW: Piece = ("View", include_str!("../lua/lib/view.lua"));
const PAYLOAD: Piece = ("Payload", include_str!("../lua/lib/payload.lua"));

const ENQUEUE: &str =
    concat!(include_str!("../lua/lib/enqueue.lua"), include_str!("../lua/enqueue.lua"));
/// The fence lets the jobs of a schedule's change through once.
const ENQUEUE_ONCE: &str = concat!(
    include_str!("../lua/fence.lua"),
    include_str!("../lua/lib/enqueue.lua"),
    include_str!("../lua/enqueue.lua")
);
const EMIT: &str = concat!(include_str!("../lua/lib/enqueue.lua"), include_str!("../lua/emit.lua"));

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

/// In the order of [`Lua`]: the script itself, whether it works on a queue, the pieces it needs,
/// and its effect.
const SCRIPTS: [(&str, bool, &[Piece], Does); 29] = [
    (ENQUEUE, true, &[JOB, LANE, CHANGE], Does::Adds),
    (
        include_str!("../lua/exchange.lua"),
        true,
        &[JOB, LANE, CHANGE, RESERVE, PAYLOAD],
        Does::Frees,
    ),
    (include_str!("../lua/act.lua"), true, &[JOB, LANE, CHANGE], Does::Frees),
    (include_str!("../lua/clear.lua"), true, &[JOB, LANE], Does::Frees),
    (include_str!("../lua/extend.lua"), true, &[JOB], Does::Frees),
    (include_str!("../lua/report.lua"), true, &[], Does::Adds),
    (include_str!("../lua/prune.lua"), true, &[JOB, LANE, CHANGE], Does::Frees),
    (include_str!("../lua/configure.lua"), true, &[], Does::Frees),
    (include_str!("../lua/place.lua"), true, &[LANE], Does::Frees),
    (include_str!("../lua/remove.lua"), true, &[], Does::Frees),
    (include_str!("../lua/figures.lua"), true, &[], Does::Reads),
    (include_str!("../lua/lanes.lua"), true, &[LANE, FRONTIER], Does::Reads),
    (include_str!("../lua/get.lua"), true, &[JOB, LANE, FRONTIER, VIEW, PAYLOAD], Does::Reads),
    (include_str!("../lua/list.lua"), true, &[JOB, LANE, FRONTIER, VIEW, PAYLOAD], Does::Reads),
    (include_str!("../lua/why.lua"), true, &[JOB, LANE], Does::Reads),
    (include_str!("../lua/register.lua"), false, &[], Does::Adds),
    (include_str!("../lua/beat.lua"), false, &[], Does::Frees),
    (include_str!("../lua/worker_forget.lua"), false, &[], Does::Frees),
    (include_str!("../lua/workers.lua"), false, &[], Does::Reads),
    (include_str!("../lua/schedules.lua"), true, &[], Does::Reads),
    (include_str!("../lua/schedule_put.lua"), false, &[], Does::Adds),
    (ENQUEUE_ONCE, true, &[JOB, LANE, CHANGE], Does::Adds),
    (EMIT, true, &[JOB, LANE, CHANGE], Does::Adds),
    (include_str!("../lua/events.lua"), true, &[], Does::Reads),
    (include_str!("../lua/event_ages.lua"), true, &[], Does::Reads),
    (include_str!("../lua/event_forget.lua"), true, &[], Does::Frees),
    (include_str!("../lua/event_settings.lua"), true, &[], Does::Adds),
    (include_str!("../lua/audit_add.lua"), false, &[], Does::Adds),
    (include_str!("../lua/audit.lua"), false, &[], Does::Reads),
];

/// The texts for this server.
#[derive(Debug)]
pub(crate) struct Scripts(Vec<(String, String)>);

impl Scripts {
    /// `flags`: the server reads the flags in a script's first line (7.0). `clock`: Lua that tests
    /// put before every script.
    pub(crate) fn new(flags: bool, clock: &str) -> Self {
        let text = |(script, of_queue, pieces, does): &(&str, bool, &[Piece], Does)| {
            let first = match does {
                _ if !flags => "",
                Does::Adds => "#!lua\n",
                Does::Frees => "#!lua flags=allow-oom\n",
                Does::Reads => "#!lua flags=no-writes,allow-oom\n",
            };
            let queue = if *of_queue { QUEUE } else { "" };
            let made = |piece: &Piece| {
                let (name, text) = piece;
                // Queues of other jobs do without it.
                let only = if *piece == PAYLOAD { "KEYS[24] and " } else { "" };
                format!("{name} = {only}piece(function()\n{text}end)\n")
            };
            let pieces: String = pieces.iter().map(made).collect();
            // Inside a function, new closures copy its upvalues; in the main chunk Lua would search
            // the stack for each.
            let text = format!("{first}{clock}{queue}return (function()\n{pieces}{script}end)()\n");
            (Script::new(&text).get_hash().to_owned(), text)
        };
        Self(SCRIPTS.iter().map(text).collect())
    }

    pub(crate) fn hash(&self, script: Lua) -> &str {
        &self.0[script as usize].0
    }

    pub(crate) fn text(&self, script: Lua) -> &str {
        &self.0[script as usize].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_stands_behind_the_pieces_its_header_names() {
        for (script, of_queue, pieces, _) in SCRIPTS {
            let header: String = script.lines().take_while(|line| line.starts_with("--")).collect();
            assert_eq!(of_queue, header.contains("lib/queue.lua"), "{header}");
            for piece in [JOB, LANE, CHANGE, RESERVE, FRONTIER, VIEW, PAYLOAD] {
                let file = format!("lib/{}.lua", piece.0.to_lowercase());
                assert_eq!(pieces.contains(&piece), header.contains(&file), "{file}: {header}");
            }
        }
    }
}
