//! A directory, and the part of it that survives a power cut.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SOURCE: &str = include_str!("../../../power_loss/shim.c");
/// The bytes that a disk writes in one piece.
const SECTOR: usize = 512;

/// The library that is preloaded into a process so that its disk remembers what was synced. The top
/// of its source describes it.
#[derive(Debug)]
pub struct Shim(PathBuf);

/// At which sync the power goes: that of this file, or of any if the name is empty, and which one.
pub type Sync<'a> = (&'a str, u64);

impl Shim {
    /// Builds it in this directory.
    ///
    /// # Errors
    /// A sentence that says what is missing.
    ///
    /// # Panics
    /// If the compiler is there and fails.
    pub fn build(directory: &Path) -> Result<Self, String> {
        let library = directory.join("power_loss.so");
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let compile = Command::new(&compiler)
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-x", "c", "-", "-ldl", "-o"])
            .arg(&library)
            .stdin(Stdio::piped())
            .spawn();
        let mut compile = match compile {
            Ok(compile) => compile,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let compiler = compiler.display();
                return Err(format!(
                    "there is no C compiler `{compiler}`; install gcc or clang, or name one in CC"
                ));
            }
            Err(error) => panic!("{compiler:?}: {error}"),
        };
        let mut source = compile.stdin.take().expect("it is piped");
        source.write_all(SOURCE.as_bytes()).expect("the compiler reads");
        drop(source);
        let status = compile.wait().expect("the compiler ends");
        assert!(status.success(), "{compiler:?}: {status}");
        Ok(Self(library))
    }

    /// What puts a process on this disk, as its environment.
    pub fn env(&self, disk: &Disk, cut: Option<Sync>) -> Vec<(&'static str, OsString)> {
        let mut env = vec![
            ("LD_PRELOAD", self.0.clone().into()),
            ("QUEUEKIT_POWER_LIVE", disk.live.clone().into()),
            ("QUEUEKIT_POWER_SYNCED", disk.synced.clone().into()),
        ];
        env.extend(
            cut.map(|(file, count)| ("QUEUEKIT_POWER_CUT", format!("{file}:{count}").into())),
        );
        env
    }
}

/// Files as processes see them, and as far as they were synced.
#[derive(Debug)]
pub struct Disk {
    live: PathBuf,
    synced: PathBuf,
}

impl Disk {
    /// A disk in this directory, which is made, that holds these files, all of them synced.
    pub fn holding(directory: PathBuf, files: &Path) -> Self {
        let disk = Self { live: directory.join("live"), synced: directory.join("synced") };
        for copy in [&disk.live, &disk.synced] {
            fs::create_dir_all(copy).expect("a directory");
            for name in names(files) {
                fs::copy(files.join(&name), copy.join(&name)).expect("a copy");
            }
        }
        disk
    }

    /// Where processes work on it.
    pub fn live(&self) -> &Path {
        &self.live
    }

    /// Makes a directory of what a power cut leaves: what was synced, and of each sector, length
    /// and name that changed since, this share. The processes that worked on the disk are gone.
    pub fn survivors(&self, directory: &Path, kept: f64) {
        fs::create_dir_all(directory).expect("a directory");
        let survives = || fastrand::f64() < kept;
        let all: BTreeSet<OsString> = names(&self.live).chain(names(&self.synced)).collect();
        for name in all {
            let live = fs::read(self.live.join(&name)).ok();
            let synced = fs::read(self.synced.join(&name)).ok();
            // A file that was made or removed since is there or not.
            let there = if survives() { live.is_some() } else { synced.is_some() };
            if there {
                let (live, synced) = (live.unwrap_or_default(), synced.unwrap_or_default());
                let bytes = mix(&live, synced, survives);
                fs::write(directory.join(&name), bytes).expect("a file");
            }
        }
    }
}

/// What is on the disk of a file.
fn mix(live: &[u8], mut synced: Vec<u8>, survives: impl Fn() -> bool) -> Vec<u8> {
    if survives() {
        synced.resize(live.len(), 0);
    }
    for (old, new) in synced.chunks_mut(SECTOR).zip(live.chunks(SECTOR)) {
        let length = old.len().min(new.len());
        if old[..length] != new[..length] && survives() {
            old[..length].copy_from_slice(&new[..length]);
        }
    }
    synced
}

/// The names of the files there, but for those of the shim itself.
fn names(directory: &Path) -> impl Iterator<Item = OsString> {
    let entries = fs::read_dir(directory).expect("a directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    names.filter(|name| !name.as_encoded_bytes().starts_with(b"."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_is_what_was_synced_or_what_was_written() {
        let (live, synced) = (vec![1; 2000], vec![2; 1200]);
        assert_eq!(mix(&live, synced.clone(), || true), live);
        assert_eq!(mix(&live, synced.clone(), || false), synced);
        assert!(mix(&[], synced, || true).is_empty());
    }

    #[test]
    fn a_mix_is_torn_between_sectors_only() {
        let mixed = mix(&[1; 100 * SECTOR], vec![2; 100 * SECTOR], fastrand::bool);
        let torn = mixed.chunks(SECTOR).filter(|sector| sector.windows(2).any(|w| w[0] != w[1]));
        assert_eq!(torn.count(), 0);
        assert!(mixed.contains(&1) && mixed.contains(&2));
    }
}
