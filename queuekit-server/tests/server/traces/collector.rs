//! A collector of OpenTelemetry: what it is sent by OTLP over HTTP, as JSON.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Long enough for any process, short enough for a test that fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// It listens until the test program ends.
pub(super) struct Collector {
    pub(super) url: String,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bodies);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || while let Some(()) = answer(&stream, &kept) {});
            }
        });
        Self { url, bodies }
    }

    /// All that it was sent.
    pub(super) fn text(&self) -> String {
        self.bodies.lock().unwrap().join("\n")
    }

    /// The spans of this name, in the order in which they began, once there are this many.
    #[track_caller]
    pub(super) fn spans(&self, name: &str, number: usize) -> Vec<Value> {
        let end = Instant::now() + PATIENCE;
        loop {
            let mut found = self.all();
            found.retain(|span| span["name"] == name);
            if found.len() >= number {
                assert_eq!(found.len(), number, "{found:#?}");
                found.sort_by_key(|span| span["startTimeUnixNano"].as_str().map(str::to_owned));
                return found;
            }
            assert!(Instant::now() < end, "no {number} of {name}: {}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[track_caller]
    pub(super) fn span(&self, name: &str) -> Value {
        self.spans(name, 1).remove(0)
    }

    fn all(&self) -> Vec<Value> {
        let bodies = self.bodies.lock().unwrap();
        let bodies = bodies.iter().map(|body| serde_json::from_str::<Value>(body).unwrap());
        let spans = bodies.flat_map(|body| {
            let resource = &body["resourceSpans"][0];
            let service = attribute(&resource["resource"], "service.name");
            assert!(service == "queuekit" || service == "queuekit-test", "{body}");
            resource["scopeSpans"][0]["spans"].as_array().unwrap().clone()
        });
        spans.collect()
    }
}

/// Reads a request and answers it; none if there is no other.
fn answer(stream: &TcpStream, bodies: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut line) = (String::new(), String::new());
    while line != "\r\n" {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        head.push_str(&line.to_ascii_lowercase());
    }
    assert!(head.starts_with("post /v1/traces http/1.1"), "{head}");
    assert!(head.contains("content-type: application/json\r\n"), "{head}");
    let length = head.split("content-length: ").nth(1)?.lines().next()?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    bodies.lock().unwrap().push(String::from_utf8(body).unwrap());
    let mut stream = stream;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").ok()
}

/// The value of an attribute of a span or a resource.
pub(super) fn attribute(of: &Value, key: &str) -> Value {
    let attributes = of["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|attribute| attribute["key"] == key);
    let value = found.and_then(|attribute| attribute["value"].as_object()?.values().next());
    value.cloned().unwrap_or_default()
}

/// This span continues another: as its child, and by a link.
#[track_caller]
pub(super) fn continues(span: &Value, trace: &str, parent: &str) {
    assert_eq!(
        (&span["traceId"], &span["parentSpanId"]),
        (&trace.into(), &parent.into()),
        "{span}"
    );
    assert_eq!(span["links"].as_array().map(Vec::len), Some(1), "{span}");
    let link = &span["links"][0];
    assert_eq!((&link["traceId"], &link["spanId"]), (&trace.into(), &parent.into()), "{span}");
}
