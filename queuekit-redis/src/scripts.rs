//! The scripts, each with the shared pieces it needs before it.

use redis::Script;

/// A script of lua/.
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
    Workers,
    Schedules,
    SchedulePut,
    EnqueueOnce,
}

const QUEUE: &str = include_str!("../lua/lib/queue.lua");
const JOB: &str = include_str!("../lua/lib/job.lua");
const LANE: &str = include_str!("../lua/lib/lane.lua");
const CHANGE: &str = include_str!("../lua/lib/change.lua");
const RESERVE: &str = include_str!("../lua/lib/reserve.lua");
const FRONTIER: &str = include_str!("../lua/lib/frontier.lua");
const FENCE: &str = include_str!("../lua/lib/fence.lua");
const VIEW: &str = include_str!("../lua/lib/view.lua");

/// What a script does to the server: by that it is told when it may not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// Not when the server is full.
    Adds,
    /// It makes room or gives back, also then.
    Frees,
    /// Also where nothing may be written: replicas are missing, the disk has a fault.
    Reads,
}

/// In the order of [`Lua`]: the script itself, what it needs, and what it does.
const SCRIPTS: [(&str, &[&str], Does); 21] = [
    (include_str!("../lua/enqueue.lua"), &[QUEUE, JOB, LANE, CHANGE], Does::Adds),
    (include_str!("../lua/exchange.lua"), &[QUEUE, JOB, LANE, CHANGE, RESERVE], Does::Frees),
    (include_str!("../lua/act.lua"), &[QUEUE, JOB, LANE, CHANGE], Does::Frees),
    (include_str!("../lua/clear.lua"), &[QUEUE, JOB, LANE], Does::Frees),
    (include_str!("../lua/extend.lua"), &[QUEUE, JOB], Does::Frees),
    (include_str!("../lua/report.lua"), &[QUEUE], Does::Adds),
    (include_str!("../lua/prune.lua"), &[QUEUE, JOB, LANE, CHANGE], Does::Frees),
    (include_str!("../lua/configure.lua"), &[QUEUE], Does::Frees),
    (include_str!("../lua/place.lua"), &[QUEUE, JOB, LANE], Does::Frees),
    (include_str!("../lua/remove.lua"), &[QUEUE], Does::Frees),
    (include_str!("../lua/figures.lua"), &[QUEUE], Does::Reads),
    (include_str!("../lua/lanes.lua"), &[QUEUE, LANE, FRONTIER], Does::Reads),
    (include_str!("../lua/get.lua"), &[QUEUE, JOB, LANE, FRONTIER, VIEW], Does::Reads),
    (include_str!("../lua/list.lua"), &[QUEUE, JOB, LANE, FRONTIER, VIEW], Does::Reads),
    (include_str!("../lua/why.lua"), &[QUEUE, JOB, LANE], Does::Reads),
    (include_str!("../lua/register.lua"), &[], Does::Adds),
    (include_str!("../lua/beat.lua"), &[], Does::Frees),
    (include_str!("../lua/workers.lua"), &[], Does::Reads),
    (include_str!("../lua/schedules.lua"), &[QUEUE], Does::Reads),
    (include_str!("../lua/schedule_put.lua"), &[], Does::Adds),
    (include_str!("../lua/enqueue.lua"), &[QUEUE, JOB, LANE, CHANGE, FENCE], Does::Adds),
];

/// The texts as this server takes them.
#[derive(Debug)]
pub(crate) struct Scripts(Vec<(String, String)>);

impl Scripts {
    /// `flags`: the server knows what a script says of itself in its first line (7.0).
    pub(crate) fn new(flags: bool) -> Self {
        let text = |(script, pieces, does): &(&str, &[&str], Does)| {
            let first = match does {
                _ if !flags => "",
                Does::Adds => "#!lua\n",
                Does::Frees => "#!lua flags=allow-oom\n",
                Does::Reads => "#!lua flags=no-writes,allow-oom\n",
            };
            let text = format!("{first}{}{script}", pieces.concat());
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
        for (script, pieces, _) in SCRIPTS {
            let header: String = script.lines().take_while(|line| line.starts_with("--")).collect();
            for (name, piece) in [
                ("lib/queue.lua", QUEUE),
                ("lib/job.lua", JOB),
                ("lib/lane.lua", LANE),
                ("lib/change.lua", CHANGE),
                ("lib/reserve.lua", RESERVE),
                ("lib/frontier.lua", FRONTIER),
                ("lib/view.lua", VIEW),
            ] {
                assert_eq!(pieces.contains(&piece), header.contains(name), "{name}: {header}");
            }
        }
    }
}
