//! A receiver of webhooks.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver as Channel, Sender, channel};
use std::sync::{Arc, Mutex};

use rustls::ServerConfig;

use crate::handlers::tcp::{Wire, accept, encrypted, line, plain};

/// Listens until the process ends; reports each request once it has arrived whole.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    requests: Channel<Request>,
    /// Reports that a client which got no answer has disconnected.
    gone: Channel<()>,
}

/// What came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// By name in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// What is answered.
pub(crate) enum Answer {
    /// These bytes, as they are.
    Bytes(String),
    /// These bytes, and then the others again and again.
    Endless(String, &'static str),
    /// Nothing, however long they wait.
    Silence,
}

impl Receiver {
    /// Answers the n-th request, from 1, so.
    pub(crate) fn new(answer: impl Fn(usize, &Request) -> Answer + Send + 'static) -> Self {
        Self::at("127.0.0.1:0", None, answer)
    }

    /// The same at this address, perhaps encrypted.
    pub(crate) fn at(
        address: &str,
        tls: Option<Arc<ServerConfig>>,
        answer: impl Fn(usize, &Request) -> Answer + Send + 'static,
    ) -> Self {
        let ((told, requests), (left, gone)) = (channel(), channel());
        let state = Mutex::new((0, told, left, answer));
        let address = accept(address, move |stream| {
            let mut wire = match &tls {
                Some(tls) => encrypted(stream, tls),
                None => plain(stream),
            };
            let Some(request) = read(&mut wire) else { return };
            let (answer, left) = {
                let mut state = state.lock().unwrap();
                state.0 += 1;
                let _ = state.1.send(request.clone());
                ((state.3)(state.0, &request), state.2.clone())
            };
            give(&mut wire, answer, &left);
        });
        Self { address, requests, gone }
    }

    /// Answers all with this status.
    pub(crate) fn saying(status: &'static str) -> Self {
        Self::new(move |_, _| answer(status, &[], ""))
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The next request: waits for it.
    pub(crate) fn next(&self) -> Request {
        self.requests.recv().unwrap()
    }

    /// Whether nobody has asked since.
    pub(crate) fn is_quiet(&self) -> bool {
        self.requests.try_recv().is_err()
    }

    /// Waits until a client that got no answer has disconnected.
    pub(crate) fn left_alone(&self) {
        self.gone.recv().unwrap();
    }
}

/// With these headers and this body.
pub(crate) fn answer(status: &str, headers: &[&str], body: &str) -> Answer {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    Answer::Bytes(format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"))
}

fn read(wire: &mut Wire) -> Option<Request> {
    let first = line(wire)?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    while let Some(header) = line(wire).filter(|line| !line.is_empty()) {
        let (name, value) = header.split_once(": ")?;
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    wire.read_exact(&mut body).ok()?;
    Some(Request { method, path, headers, body: String::from_utf8(body).unwrap() })
}

fn give(wire: &mut Wire, answer: Answer, left: &Sender<()>) {
    match answer {
        Answer::Bytes(bytes) => drop(wire.get_mut().write_all(bytes.as_bytes())),
        Answer::Endless(first, others) => {
            let others = others.repeat(4096 / others.len());
            let mut more = wire.get_mut().write_all(first.as_bytes());
            while more.is_ok() {
                more = wire.get_mut().write_all(others.as_bytes());
            }
        }
        Answer::Silence => while line(wire).is_some() {},
    }
    let _ = wire.get_mut().flush();
    let _ = left.send(());
}
