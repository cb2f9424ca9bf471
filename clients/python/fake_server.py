"""A server for tests that answers as scripted: also late, wrongly or not at all."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FakeServer:
    """Leases `jobs` once each and accepts every outcome, unless `script` says something else.

    `script` maps a path to answers that are used up first: `(status, headers, body)`, or the name
    of a fault: `reset` closes the connection unread, `lost` closes it after the effect, `late`
    answers after a second.
    """

    def __init__(self):
        self.jobs, self.script, self.calls = [], {}, []
        self.connections = 0
        self.is_chunked = False
        self.outcomes = {}  # The outcome for each item, by path.
        self.lock = threading.Condition()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self):
                super().setup()
                fake.connections += 1

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.answer({})

            def do_DELETE(self):
                self.answer({})

            def do_POST(self):
                length = int(self.headers.get("Content-Length", 0))
                self.answer(json.loads(self.rfile.read(length) or b"{}"))

            def answer(self, body):
                with fake.lock:
                    fake.calls.append((self.path, body, dict(self.headers), time.monotonic()))
                    fake.lock.notify_all()
                    answers = fake.script.get(self.path)
                    told = answers.pop(0) if answers else None
                if told in ("reset", "lost"):
                    if told == "lost":
                        fake.plain(self.path, body)
                    self.close_connection = True
                    return
                if told == "late":
                    time.sleep(1)
                    told = None
                status, headers, answer = told or (200, {}, fake.plain(self.path, body))
                text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                if fake.is_chunked:
                    more = {"Transfer-Encoding": "chunked"}
                    text = b"1;x=y\r\n%s\r\n%x\r\n%s\r\n0\r\nT: 1\r\n\r\n" % (
                        text[:1], len(text) - 1, text[1:])
                else:
                    more = {"Content-Length": len(text)}
                for name, value in {**headers, **more}.items():
                    self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(text)
                if headers.get("Connection") == "drop":  # The answer did not say so.
                    self.close_connection = True

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # The client has disconnected, as some tests do.

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def plain(self, path, body):
        if path == "/v1/reserve":
            until = time.monotonic() + body["wait_ms"] / 1000
            with self.lock:
                while not self.jobs and time.monotonic() < until:
                    self.lock.wait(0.02)
                taken, self.jobs[:] = self.jobs[:body["limit"]], self.jobs[body["limit"]:]
            return {"leases": taken, "more": False}
        if path == "/v1/jobs":
            jobs = body.get("jobs")
            if jobs is None:
                return {"id": "1", "outcome": "created", "job": body}
            return {"outcomes": [{"outcome": "created", "id": "1"} for _ in jobs]}
        if path == "/v1/checkpoint":
            return {"outcome": "stored"}
        items = body.get("acks") or body.get("nacks") or body.get("tokens") or []
        usual = {"/v1/ack": "acked", "/v1/nack": "retrying", "/v1/extend": "extended"}
        answer = self.outcomes.get(path, {"outcome": usual.get(path)})
        return {"outcomes": [answer for _ in items]}

    def lease(self, token, kind="t", payload=None, **job):
        job = {"id": f"job-{token}", "kind": kind, "payload": payload, "releases": 0, **job}
        with self.lock:
            self.jobs.append({"token": token, "job": job})
            self.lock.notify_all()

    def bodies(self, path):
        with self.lock:
            return [body for called, body, _, _ in self.calls if called == path]

    def items(self, path, field):
        """All items that were sent to this path, in any batch."""
        return [item for body in self.bodies(path) for item in body[field]]

    def wait_for(self, done, seconds=10):
        until = time.monotonic() + seconds
        while not done():
            if time.monotonic() > until:
                seen = [(path, body) for path, body, _, _ in self.calls]
                raise AssertionError(f"it did not come to that in {seconds} s; calls: {seen}")
            time.sleep(0.01)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
