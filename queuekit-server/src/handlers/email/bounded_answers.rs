//! A connection to a mail server whose answers are bounded.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Largest answer to one command, or handshake of TLS after STARTTLS: the client of SMTP would read
/// a line of any length.
const ANSWER: usize = 32 * 1024;
/// Most lines of an answer: the client parses it again from its start after each line.
const LINES: usize = 256;
/// How much is read at once. Between two reads other tasks run, and the time limit of the handler
/// is looked at: the client does not pause by itself as long as there is something to read.
const READ: usize = 1024;

/// Fails if more is read between two writes than an answer may have.
#[derive(Debug)]
pub(super) struct BoundedAnswers<S> {
    stream: S,
    peer: SocketAddr,
    /// How much was read since the last write.
    answer: usize,
    lines: usize,
    /// Whether the last poll has read something.
    has_read: bool,
}

impl<S> BoundedAnswers<S> {
    /// Over a connection to this address.
    pub(super) fn new(stream: S, peer: SocketAddr) -> Self {
        Self { stream, peer, answer: 0, lines: 0, has_read: false }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BoundedAnswers<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if mem::take(&mut self.has_read) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let most = buffer.remaining().min(READ);
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(most));
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut part))?;
        let (read, lines) = (part.filled().len(), part.filled().iter().filter(|b| **b == b'\n'));
        self.lines += lines.count();
        self.answer += read;
        self.has_read = true;
        buffer.advance(read);
        if self.answer > ANSWER || self.lines > LINES {
            let told = format!(
                "an answer of the mail server has more than {ANSWER} bytes or {LINES} lines"
            );
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, told)));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BoundedAnswers<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        (self.answer, self.lines) = (0, 0);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S> AsyncTokioStream for BoundedAnswers<S>
where
    S: AsyncRead + AsyncWrite + Send + Sync + Unpin + std::fmt::Debug,
{
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.peer)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn s6_a_poll_reads_little_and_an_answer_has_a_bound() {
        let (near, mut far) = tokio::io::duplex(4 * ANSWER);
        let mut near = BoundedAnswers::new(near, ([127, 0, 0, 1], 25).into());
        far.write_all(&vec![b'2'; 3 * ANSWER]).await.unwrap();
        let mut buffer = vec![0; ANSWER];
        for _ in 0..3 {
            assert_eq!(near.read(&mut buffer).now_or_never().unwrap().unwrap(), READ);
            assert!(near.read(&mut buffer).now_or_never().is_none(), "others run in between");
        }
        near.write_all(b"NOOP\r\n").await.unwrap();
        near.read_exact(&mut buffer).await.unwrap();
        let error = near.read(&mut buffer).await.unwrap_err();
        assert!(error.to_string().contains("more than 32768 bytes"), "{error}");
    }

    #[tokio::test]
    async fn s6_an_answer_has_few_lines() {
        let (near, mut far) = tokio::io::duplex(ANSWER);
        let mut near = BoundedAnswers::new(near, ([127, 0, 0, 1], 25).into());
        let mut buffer = [0; 2 * LINES];
        for _ in 0..2 {
            far.write_all("\r\n".repeat(LINES).as_bytes()).await.unwrap();
            near.read_exact(&mut buffer).await.unwrap();
            near.write_all(b"NOOP\r\n").await.unwrap();
        }
        far.write_all("\r\n".repeat(LINES + 1).as_bytes()).await.unwrap();
        near.read_exact(&mut buffer).await.unwrap();
        near.read(&mut buffer).await.unwrap_err();
    }
}
