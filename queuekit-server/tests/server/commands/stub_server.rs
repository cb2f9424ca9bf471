//! A server that is no queuekit, or that plays one for a while.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

/// Answers the n-th request, from 0, with this status and body until the process ends; its URL.
pub(crate) fn stub(answer: impl Fn(usize, &str) -> (u16, String) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (n, stream) in listener.incoming().enumerate() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut lines = stream.by_ref().lines().map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            let _head = lines.take_while(|line| !line.is_empty()).count();
            let (status, body) = answer(n, first.split(' ').nth(1).unwrap_or_default());
            let length = body.len();
            let head = format!("HTTP/1.1 {status} So\r\nContent-Length: {length}\r\n");
            let _ = write!(stream.get_mut(), "{head}Connection: close\r\n\r\n{body}");
        }
    });
    url
}
