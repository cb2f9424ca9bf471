use std::fs;
use std::path::Path;

use crate::command_line::CommandLine;

/// What tests do to the system where they may, by the word under which they require it.
pub(crate) fn allowed() -> Vec<&'static str> {
    let Ok(directory) = tempfile::tempdir() else { return Vec::new() };
    let place = directory.path();
    let allowed = [("mount", can_mount(place)), ("chattr", can_make_immutable(place))];
    allowed.into_iter().filter_map(|(word, is_allowed)| is_allowed.then_some(word)).collect()
}

fn can_mount(place: &Path) -> bool {
    let tmpfs = CommandLine::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]);
    succeeds(tmpfs, place) && succeeds(CommandLine::new("umount"), place)
}

fn can_make_immutable(place: &Path) -> bool {
    let file = place.join("file");
    let chattr = |change: &str| succeeds(CommandLine::new("chattr").arg(change), &file);
    fs::write(&file, "").is_ok() && chattr("+i") && chattr("-i")
}

fn succeeds(command: CommandLine, at: &Path) -> bool {
    let output = command.arg(at.to_string_lossy()).to_command(at.parent().unwrap_or(at)).output();
    output.is_ok_and(|output| output.status.success())
}
