//! The results of a run, and how they are printed.

use std::collections::HashSet;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::time::Duration;

use indicatif::HumanCount;
use queuekit::jobs::{PageSize, StatusSet};
use queuekit::prelude::*;
use queuekit::{Job, QueueName, Status};

use super::Result;
use super::directory::Directory;
use super::hash::{Checksum, Hashed};

/// The results of a run.
#[derive(Default)]
pub(crate) struct Report {
    /// Jobs that have ended, in any state.
    pub(crate) jobs: u64,
    /// Every file without a digest.
    pub(crate) failures: Vec<Failure>,
    /// Every file with its digest, if digests are printed; otherwise they stay in the store.
    digests: Vec<(PathBuf, String)>,
    bytes: u64,
    /// The jobs that earlier processes of the run have hashed.
    pub(crate) hashed_before: u64,
    /// The bytes that this process has hashed.
    pub(crate) bytes_hashed: u64,
    pub(crate) elapsed: Duration,
}

/// A file without a digest.
#[derive(Debug, PartialEq)]
pub(crate) struct Failure {
    pub(crate) path: PathBuf,
    pub(crate) reason: String,
}

impl Report {
    /// Reads the ended jobs page by page, and skips those of other files: an earlier process of the
    /// run found these, and they have changed or been removed since.
    pub(crate) async fn collect(
        client: &Client,
        queue: &QueueName,
        jobs: &HashSet<JobId>,
        print: bool,
    ) -> Result<Self> {
        let ended = [Status::Dead, Status::Cancelled, Status::Completed];
        let ended: StatusSet = ended.into_iter().collect();
        let most = PageSize::MAX.get();
        let mut filter = JobFilter::default().queue(queue).status(ended).limit(most);
        let mut report = Self::default();
        loop {
            let page = client.jobs().list(&filter).await?;
            for job in page.items.iter().filter(|job| jobs.contains(&job.id)) {
                report.add(job, print)?;
            }
            if page.next.is_none() {
                return Ok(report);
            }
            filter = filter.after(page.next);
        }
    }

    fn add(&mut self, job: &Job, print: bool) -> Result<()> {
        let Checksum { path } = job.payload::<Checksum>()?;
        self.jobs += 1;
        match job.state {
            State::Completed => {
                let Hashed { digest, bytes } = job.result()?;
                self.bytes += bytes;
                if print {
                    self.digests.push((path, digest));
                }
            }
            _ => self.failures.push(Failure { path, reason: reason(job) }),
        }
        Ok(())
    }

    /// The digests, if asked for, on standard output; then the summary, on standard error if
    /// standard output has the digests.
    pub(crate) fn print(mut self, directory: &Directory, digests: bool) -> io::Result<()> {
        if !digests {
            return self.write_summary(directory, io::stdout().lock());
        }
        // Ordered by bytes, because `Path` compares component by component.
        self.digests.sort_unstable_by(|(a, _), (b, _)| a.as_os_str().cmp(b.as_os_str()));
        let mut out = BufWriter::new(io::stdout().lock());
        for (path, digest) in &self.digests {
            write_line(&mut out, directory.shown(path).as_os_str().as_encoded_bytes(), digest)?;
        }
        out.flush()?;
        self.write_summary(directory, io::stderr().lock())
    }

    fn write_summary(&self, directory: &Directory, mut out: impl Write) -> io::Result<()> {
        let seconds = self.elapsed.as_secs_f64();
        let rate = self.jobs.saturating_sub(self.hashed_before) as f64 / seconds;
        writeln!(
            out,
            "{} files, {} bytes in {seconds:.2} s: {rate:.0} jobs/s, {:.1} MB/s; {} failed",
            HumanCount(self.jobs),
            HumanCount(self.bytes),
            self.bytes_hashed as f64 / 1e6 / seconds,
            HumanCount(self.failures.len() as u64),
        )?;
        if self.hashed_before > 0 {
            let before = HumanCount(self.hashed_before);
            writeln!(out, "  {before} of them before this start; the rates are of the others")?;
        }
        for Failure { path, reason } in &self.failures {
            writeln!(out, "  {:?}: {reason}", directory.shown(path))?;
        }
        out.flush()
    }
}

/// Why the job has no digest: the error of its last attempt, or why it ended without one.
fn reason(job: &Job) -> String {
    let error = job.errors.last().map(|failure| &failure.error);
    error.or(job.reason.as_ref()).map_or_else(|| job.state.to_string(), ToString::to_string)
}

/// A line as sha256sum prints it. A backslash, newline or carriage return in a path is escaped with
/// a backslash, and the line then begins with one. All other bytes are printed unchanged.
fn write_line(out: &mut impl Write, path: &[u8], digest: &str) -> io::Result<()> {
    if path.iter().any(|byte| b"\\\n\r".contains(byte)) {
        out.write_all(b"\\")?;
    }
    write!(out, "{digest}  ")?;
    for byte in path {
        match byte {
            b'\\' => out.write_all(br"\\")?,
            b'\n' => out.write_all(br"\n")?,
            b'\r' => out.write_all(br"\r")?,
            byte => out.write_all(&[*byte])?,
        }
    }
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_escaped_as_sha256sum_does() {
        let line = |path: &[u8]| {
            let mut out = Vec::new();
            write_line(&mut out, path, "2d71").unwrap();
            out
        };
        assert_eq!(line(b"docs/a b"), b"2d71  docs/a b\n");
        assert_eq!(line(b"a\xff\t"), b"2d71  a\xff\t\n");
        assert_eq!(line(b"a\nb"), b"\\2d71  a\\nb\n");
        assert_eq!(line(b"a\rb\\c"), b"\\2d71  a\\rb\\\\c\n");
    }
}
