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
}

const QUEUE: &str = include_str!("../lua/lib/queue.lua");
const JOB: &str = include_str!("../lua/lib/job.lua");
const LANE: &str = include_str!("../lua/lib/lane.lua");
const CHANGE: &str = include_str!("../lua/lib/change.lua");
const RESERVE: &str = include_str!("../lua/lib/reserve.lua");
const FRONTIER: &str = include_str!("../lua/lib/frontier.lua");
const VIEW: &str = include_str!("../lua/lib/view.lua");

/// Whether a script may run though the server is full: only what makes room or gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhenFull {
    Refused,
    Runs,
}

/// In the order of [`Lua`]: the script itself, what it needs, and whether it adds to what is kept.
const SCRIPTS: [(&str, &[&str], WhenFull); 17] = [
    (include_str!("../lua/enqueue.lua"), &[QUEUE, JOB, LANE, CHANGE], WhenFull::Refused),
    (include_str!("../lua/exchange.lua"), &[QUEUE, JOB, LANE, CHANGE, RESERVE], WhenFull::Runs),
    (include_str!("../lua/act.lua"), &[QUEUE, JOB, LANE, CHANGE], WhenFull::Runs),
    (include_str!("../lua/clear.lua"), &[QUEUE, JOB, LANE], WhenFull::Runs),
    (include_str!("../lua/extend.lua"), &[QUEUE, JOB], WhenFull::Runs),
    (include_str!("../lua/report.lua"), &[QUEUE], WhenFull::Refused),
    (include_str!("../lua/prune.lua"), &[QUEUE, JOB, LANE, CHANGE], WhenFull::Runs),
    (include_str!("../lua/configure.lua"), &[QUEUE], WhenFull::Runs),
    (include_str!("../lua/place.lua"), &[QUEUE, JOB, LANE], WhenFull::Runs),
    (include_str!("../lua/remove.lua"), &[QUEUE], WhenFull::Runs),
    (include_str!("../lua/figures.lua"), &[QUEUE], WhenFull::Runs),
    (include_str!("../lua/lanes.lua"), &[QUEUE, LANE, FRONTIER], WhenFull::Runs),
    (include_str!("../lua/get.lua"), &[QUEUE, JOB, LANE, FRONTIER, VIEW], WhenFull::Runs),
    (include_str!("../lua/list.lua"), &[QUEUE, JOB, LANE, FRONTIER, VIEW], WhenFull::Runs),
    (include_str!("../lua/why.lua"), &[QUEUE, JOB, LANE], WhenFull::Runs),
    (include_str!("../lua/register.lua"), &[], WhenFull::Refused),
    (include_str!("../lua/beat.lua"), &[], WhenFull::Runs),
];

/// The texts as this server takes them.
#[derive(Debug)]
pub(crate) struct Scripts(Vec<(String, String)>);

impl Scripts {
    /// `flags`: the server knows what a script says of itself in its first line (7.0).
    pub(crate) fn new(flags: bool) -> Self {
        let text = |(script, pieces, when_full): &(&str, &[&str], WhenFull)| {
            let first = match when_full {
                _ if !flags => "",
                WhenFull::Runs => "#!lua flags=allow-oom\n",
                WhenFull::Refused => "#!lua\n",
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
