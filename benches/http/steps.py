"""Measures what a step of a job costs beside the ack of the job, by HTTP, one call at a time.

    python3 benches/http/steps.py http://127.0.0.1:8080 [PID ..]

The server must have an empty queue `default` and no keys. Of each 200 jobs that are reserved, 100 are
acked. Of the others, the steps are read, a step is ended, and then they are acked. The script prints
the median time of each call, from the request to the end of the answer, and the processor time that
a call takes these processes and their descendants: the server, and that of the store.
"""

import http.client
import json
import os
import statistics
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

ROUNDS = 10
JOBS = 100
# The result of a step: about 100 bytes, as a receipt has.
RESULT = {"receipt": "r" * 88}
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def processor_ms(roots: "list[int]") -> float:
    """What these processes and their descendants have taken."""
    stats = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(") ")[2].split()
        except OSError:
            continue  # It has ended.
        # The parent, and the times in user mode and in the kernel.
        stats[int(path.parent.name)] = (int(fields[1]), int(fields[11]) + int(fields[12]))
    ticks = 0
    for pid, (_, own) in stats.items():
        ancestor = pid
        while ancestor in stats and ancestor not in roots:
            ancestor = stats[ancestor][0]
        ticks += own if ancestor in roots else 0
    return ticks * 1000 / TICKS_PER_SECOND


class Api:
    """The routes of a server, over one connection."""

    def __init__(self, address: str, pids: "list[int]") -> None:
        self.connection = http.client.HTTPConnection(address, timeout=60)
        self.pids = pids
        self.times: "dict[str, list[float]]" = {}
        self.processor: "dict[str, float]" = {}

    def call(self, path: str, body: dict) -> dict:
        """The answer of a route."""
        headers = {"Content-Type": "application/json"}
        self.connection.request("POST", path, json.dumps(body), headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            sys.exit(f"{path}: {answer.status} {text[:500]!r}")
        return json.loads(text)

    def reserve(self, count: int) -> "list[str]":
        """Tokens of this number of new jobs."""
        job = {"kind": "echo", "payload": {"a": 1}}
        self.call("/v1/jobs", {"jobs": [job] * count})
        ask = {"queues": ["default"], "worker": "steps", "limit": count, "lease_ms": 3_600_000}
        leases = self.call("/v1/reserve", ask)["leases"]
        if len(leases) != count:
            sys.exit("jobs are missing: is another worker running?")
        return [lease["token"] for lease in leases]

    def measure(self, name: str, path: str, bodies: "list[dict]", expected: str) -> None:
        """Makes these calls, and keeps their times under this name."""
        before = processor_ms(self.pids)
        for body in bodies:
            begun = time.monotonic()
            answer = self.call(path, body)
            self.times.setdefault(name, []).append((time.monotonic() - begun) * 1000)
            outcome = answer.get("outcome") or answer["outcomes"][0]["outcome"]
            if outcome != expected:
                sys.exit(f"{name}: {answer}")
        spent = processor_ms(self.pids) - before
        self.processor[name] = self.processor.get(name, 0) + spent

    def round(self) -> None:
        """Some jobs without a step, and as many with one."""
        tokens = self.reserve(2 * JOBS)
        plain, stepped = tokens[:JOBS], tokens[JOBS:]
        ends = [{"token": token, "name": "charge", "result": RESULT} for token in stepped]
        acks = [[{"acks": [{"token": token}]} for token in part] for part in (plain, stepped)]
        reads = [{"token": token} for token in stepped]
        self.measure("ack", "/v1/ack", acks[0], "acked")
        self.measure("read the steps", "/v1/checkpoints", reads, "held")
        self.measure("end a step", "/v1/checkpoint", ends, "stored")
        self.measure("ack after a step", "/v1/ack", acks[1], "acked")


def main() -> None:
    api = Api(urlsplit(sys.argv[1]).netloc, [int(pid) for pid in sys.argv[2:]])
    # The first round opens connections and plans statements.
    api.round()
    api.times.clear()
    api.processor.clear()
    for _ in range(ROUNDS):
        api.round()
    for name, times in api.times.items():
        processor = api.processor[name] / len(times)
        print(f"{name}: {statistics.median(times):.2f} ms, {processor:.2f} ms of the processor")


if __name__ == "__main__":
    main()
