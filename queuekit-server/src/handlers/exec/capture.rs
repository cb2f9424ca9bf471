//! Captures the output of a command, within bounds.

use std::borrow::Cow;

use queuekit::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The part of the output that is kept. All of it is read, so that the command does not block.
pub(super) struct Captured {
    kept: Vec<u8>,
    most: usize,
    keep: Keep,
    read: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    First,
    Last,
}

impl Captured {
    /// Keeps the first bytes.
    pub(super) fn first(most: usize) -> Self {
        Self { kept: Vec::new(), most, keep: Keep::First, read: 0 }
    }

    /// Keeps the last bytes.
    pub(super) fn last(most: usize) -> Self {
        Self { keep: Keep::Last, ..Self::first(most) }
    }

    /// Reads to the end.
    pub(super) async fn fill(&mut self, mut from: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 8 * 1024];
        // Reads on beyond what is kept, because a full pipe would block the command.
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            self.take(&buffer[..read]);
        }
    }

    /// Says what was left out, if anything was.
    pub(super) fn cut(&self) -> Option<String> {
        let which = match self.keep {
            Keep::First => "first",
            Keep::Last => "last",
        };
        let (kept, read) = (self.kept.len(), self.read);
        (read > kept as u64).then(|| format!("only the {which} {kept} of {read} bytes are kept"))
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let lines = self.text().lines().map(str::trim_end).map(str::to_owned).collect::<Vec<_>>();
        lines.into_iter().filter(|line| !line.is_empty()).collect()
    }

    pub(super) fn last_line(&self) -> Option<String> {
        self.lines().pop()
    }

    /// The output as the result of a job; `None` if it is empty. Text is cut between characters.
    pub(super) fn into_result(mut self) -> Option<Bytes> {
        if self.cut().is_some()
            && let Err(error) = str::from_utf8(&self.kept)
            // Only the cut can have made a character incomplete; other bytes that are no text stay
            // as they are.
            && error.error_len().is_none()
        {
            self.kept.truncate(error.valid_up_to());
        }
        (!self.kept.is_empty()).then(|| self.kept.into())
    }

    fn take(&mut self, bytes: &[u8]) {
        self.read += bytes.len() as u64;
        match self.keep {
            Keep::First => {
                let room = self.most - self.kept.len();
                self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Keep::Last => {
                self.kept.extend_from_slice(bytes);
                self.kept.drain(..self.kept.len().saturating_sub(self.most));
            }
        }
    }

    fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_or_the_last_is_kept_and_all_is_counted() {
        let written: Vec<u8> = (0..20_000_u32).map(|n| b'a' + (n % 26) as u8).collect();
        let mut first = Captured::first(100);
        first.fill(&written[..]).await;
        assert_eq!(first.cut().unwrap(), "only the first 100 of 20000 bytes are kept");
        assert_eq!(first.into_result().unwrap(), written[..100]);
        let mut last = Captured::last(100);
        last.fill(&written[..]).await;
        assert_eq!(last.cut().unwrap(), "only the last 100 of 20000 bytes are kept");
        assert_eq!(last.into_result().unwrap(), written[19_900..]);
    }

    #[tokio::test]
    async fn text_is_not_cut_within_a_letter_and_bytes_are_left_as_they_are() {
        let result = async |written: &[u8], most| {
            let mut captured = Captured::first(most);
            captured.fill(written).await;
            captured.into_result()
        };
        assert_eq!(result("aé".as_bytes(), 2).await.unwrap(), "a");
        assert_eq!(result("aé".as_bytes(), 3).await.unwrap(), "aé");
        assert_eq!(result(b"a\xff\xffb", 3).await.unwrap(), &b"a\xff\xff"[..]);
        assert_eq!(result(b"", 3).await, None);
    }

    #[tokio::test]
    async fn the_last_line_is_the_last_that_says_something() {
        let mut captured = Captured::last(100);
        captured.fill(&b"one\r\ntwo\n\n"[..]).await;
        assert_eq!(captured.lines(), ["one", "two"]);
        assert_eq!(captured.last_line().unwrap(), "two");
    }
}
