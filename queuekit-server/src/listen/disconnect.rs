//! Detects that a client has disconnected, even while its request is being handled.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How much is read at once, and how much is read ahead. Hyper keeps a buffer for twice as much as
/// it gets at once, on each connection.
const PIECE: usize = 16 * 1024;

/// A connection that is read ahead while a request is being handled. Hyper stops reading once it
/// holds the beginning of another request, and would not notice a disconnect behind it: a long poll
/// would continue, and lease jobs for a client that is gone.
pub(super) struct DetectDisconnect<S> {
    stream: S,
    ahead: BytesMut,
    has_ended: bool,
    /// Whether hyper has read since the last read ahead.
    is_read: bool,
}

impl<S> DetectDisconnect<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, ahead: BytesMut::new(), has_ended: false, is_read: false }
    }
}

impl<S: AsyncRead + Unpin> DetectDisconnect<S> {
    fn read_piece(&mut self, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let length = to.remaining().min(PIECE);
        let mut piece = ReadBuf::new(to.initialize_unfilled_to(length));
        let read = Pin::new(&mut self.stream).poll_read(cx, &mut piece);
        let filled = piece.filled().len();
        to.advance(filled);
        read
    }

    /// Buffers what arrives, up to a bound. An end that hyper has not read up to is an error: the
    /// client of the present request has disconnected.
    fn look_ahead(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        while !self.has_ended {
            // Bounded, because a client may send its next requests without waiting for an answer.
            if self.ahead.len() >= PIECE {
                return Ok(());
            }
            let mut bytes = [const { MaybeUninit::uninit() }; 4096];
            let mut piece = ReadBuf::uninit(&mut bytes);
            match Pin::new(&mut self.stream).poll_read(cx, &mut piece)? {
                Poll::Pending => return Ok(()),
                Poll::Ready(()) => self.has_ended = piece.filled().is_empty(),
            }
            self.ahead.extend_from_slice(piece.filled());
            // Wake hyper, which found nothing to read a moment ago.
            cx.waker().wake_by_ref();
            if self.has_ended {
                self.is_read = false;
                return Ok(());
            }
        }
        // Hyper is reading, and finds the end by itself.
        match std::mem::take(&mut self.is_read) {
            true => Ok(()),
            false => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for DetectDisconnect<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.is_read = true;
        if self.ahead.is_empty() && !self.has_ended {
            return self.read_piece(cx, to);
        }
        let length = self.ahead.len().min(to.remaining());
        to.put_slice(&self.ahead[..length]);
        self.ahead.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for DetectDisconnect<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    /// Reads ahead here, because hyper flushes whenever something has changed.
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn s6_a_connection_is_read_in_small_pieces_and_loses_no_byte() {
        let (mut client, server) = tokio::io::duplex(1024 * 1024);
        let sent: Vec<u8> = (0..100_000_u32).map(|n| n as u8).collect();
        client.write_all(&sent).await.unwrap();
        drop(client);
        let (mut server, mut got) = (DetectDisconnect::new(server), Vec::new());
        let mut buffer = [0; 64 * 1024];
        loop {
            let length = server.read(&mut buffer).await.unwrap();
            assert!(length <= PIECE, "{length} bytes at once");
            got.extend_from_slice(&buffer[..length]);
            if length == 0 {
                break;
            }
        }
        assert!(got == sent);
    }
}
