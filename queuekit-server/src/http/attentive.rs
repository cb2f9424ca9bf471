//! Noticing that a client has hung up, also while it has more to say.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How much is read ahead of who serves the connection.
const AHEAD: usize = 64 * 1024;

/// A connection that is read on while a request is at work. Hyper reads nothing more as long as it
/// holds the beginning of a next request, and so would not see the end behind it: a long poll would
/// go on, and lease jobs to nobody.
pub(super) struct Attentive<S> {
    stream: S,
    ahead: BytesMut,
    has_ended: bool,
    /// Whether anybody has read since it was last looked ahead.
    is_read: bool,
}

impl<S> Attentive<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, ahead: BytesMut::new(), has_ended: false, is_read: false }
    }
}

impl<S: AsyncRead + Unpin> Attentive<S> {
    /// Keeps what comes, up to a bound. The end, if nobody reads up to it, is an error: who sent
    /// the request that is at work has hung up.
    fn look_ahead(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        while !self.has_ended {
            if self.ahead.len() >= AHEAD {
                return Ok(());
            }
            let mut bytes = [const { MaybeUninit::uninit() }; 4096];
            let mut piece = ReadBuf::uninit(&mut bytes);
            match Pin::new(&mut self.stream).poll_read(cx, &mut piece)? {
                Poll::Pending => return Ok(()),
                Poll::Ready(()) => self.has_ended = piece.filled().is_empty(),
            }
            self.ahead.extend_from_slice(piece.filled());
            // Who was told a moment ago that there is nothing to read is to look again.
            cx.waker().wake_by_ref();
            if self.has_ended {
                self.is_read = false;
                return Ok(());
            }
        }
        // Whoever reads finds the end by itself.
        match std::mem::take(&mut self.is_read) {
            true => Ok(()),
            false => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Attentive<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.is_read = true;
        if self.ahead.is_empty() && !self.has_ended {
            return Pin::new(&mut self.stream).poll_read(cx, to);
        }
        let length = self.ahead.len().min(to.remaining());
        to.put_slice(&self.ahead[..length]);
        self.ahead.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Attentive<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    /// Hyper flushes whenever something has changed.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.look_ahead(cx)?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
