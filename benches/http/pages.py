"""Measures how long a server takes for each page of its dashboard over many jobs and queues.

    python3 benches/http/pages.py http://127.0.0.1:8080 [QUEUES] [JOBS]

The server must have an empty store, no keys, and no other viewers of its dashboard. The script
first fills the store with 1,000 queues and 1,000,000 jobs: of each twenty, sixteen are ready, two
scheduled, one is completed and one dead. Then it gets each page 15 times, and prints the median and
the longest time from the request to the end of the answer, in milliseconds.
"""

import http.client
import json
import multiprocessing
import statistics
import sys
import time
from urllib.parse import quote, urlsplit

BATCH = 1_000
CLIENTS = 4
ROUNDS = 15
# Between two rounds: longer than the server keeps what one page has read for the next.
PAUSE_S = 0.1
PER_QUEUE = 20
# Queues of one reserve.
QUEUES = 250
KINDS = 25


class Api:
    """The routes of a server, over one connection."""

    def __init__(self, address: str) -> None:
        self.connection = http.client.HTTPConnection(address, timeout=120)

    def call(self, method: str, path: str, body: "dict | None" = None) -> dict:
        """The answer of a route."""
        headers = {"Content-Type": "application/json"}
        self.connection.request(method, path, body and json.dumps(body), headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            sys.exit(f"{method} {path}: {answer.status} {text[:500]!r}")
        return json.loads(text) if text else {}

    def page(self, path: str) -> "tuple[float, int]":
        """Milliseconds and bytes of a page."""
        begun = time.monotonic()
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        length = len(answer.read())
        if answer.status != 200:
            sys.exit(f"GET {path}: {answer.status}")
        return (time.monotonic() - begun) * 1000, length


def queue_name(number: int) -> str:
    """Names as an application would have: a few subjects, each with a number."""
    subjects = ["mail", "images", "billing", "search", "reports"]
    return f"{subjects[number % len(subjects)]}.{number:04}"


def job(number: int, queues: int, **fields: object) -> dict:
    """Jobs go to the queues in turn."""
    return {
        "kind": f"kind_{number % KINDS}",
        "queue": queue_name(number % queues),
        "payload": {"number": number, "to": "ada@example.org"},
        **fields,
    }


def in_parallel(work, address: str, parts: list) -> None:
    """Calls `work(address, part)` for all parts, in processes of their own."""
    with multiprocessing.Pool(CLIENTS) as pool:
        pool.starmap(work, [(address, part) for part in parts], chunksize=1)


def enqueue(address: str, jobs: "list[dict]") -> None:
    """Enqueues one batch."""
    Api(address).call("POST", "/v1/jobs", {"jobs": jobs})


def end(address: str, part: "tuple[list[str], int]") -> None:
    """Completes and kills the jobs of these queues in turn, until this number has ended."""
    queues, count = part
    api, ended = Api(address), 0
    request = {"queues": queues, "worker": "pages", "limit": BATCH}
    while ended < count:
        leases = api.call("POST", "/v1/reserve", request)["leases"]
        if not leases:
            sys.exit(f"{count - ended} jobs are missing")
        completed = [{"token": lease["token"]} for lease in leases[::2]]
        dead = [
            {
                "token": lease["token"],
                "kind": "fatal",
                "error": f"cannot reach host-{index % 40}.example.org: connection refused",
            }
            for index, lease in enumerate(leases[1::2])
        ]
        api.call("POST", "/v1/ack", {"acks": completed})
        api.call("POST", "/v1/nack", {"nacks": dead})
        ended += len(leases)


def batches(numbers: range, queues: int, **fields: object) -> "list[list[dict]]":
    """Batches of jobs with these numbers."""
    return [
        [job(number, queues, **fields) for number in numbers[start : start + BATCH]]
        for start in range(0, len(numbers), BATCH)
    ]


def fill(address: str, queues: int, jobs: int) -> None:
    """The jobs that end are enqueued first, because a reserve takes the oldest."""
    to_end, scheduled = jobs * 2 // PER_QUEUE, jobs * 2 // PER_QUEUE
    names = [queue_name(number) for number in range(queues)]
    in_parallel(enqueue, address, batches(range(to_end), queues))
    share = min(QUEUES, max(1, queues // CLIENTS))
    parts = [names[start : start + share] for start in range(0, queues, share)]
    in_parallel(end, address, [(part, to_end * len(part) // queues) for part in parts])
    in_parallel(enqueue, address, batches(range(scheduled), queues, delay_ms=86_400_000))
    rest = range(jobs - to_end - scheduled)
    in_parallel(enqueue, address, batches(rest, queues))
    api = Api(address)
    for number in range(10):
        path = f"/v1/schedules/nightly-{number}"
        body = {"cron": "30 2 * * *", "job": job(number, queues)}
        api.call("PUT", path, body)
    api.call("PUT", "/v1/subscriptions/billing", {"events": "order.*"})
    events = [{"type": "order.paid", "data": {"order": number}} for number in range(BATCH)]
    api.call("POST", "/v1/events", {"events": events})


def paths(address: str) -> "list[str]":
    """The pages, each with something on it."""
    api = Api(address)
    name = quote(queue_name(0))
    job_id = api.call("GET", "/v1/jobs?status=dead&limit=1")["jobs"][0]["id"]
    group = api.call("GET", f"/v1/errors?queue={name}")["groups"][0]["id"]
    return [
        "/ui",
        "/ui?span=7d",
        "/ui/queues",
        f"/ui/queues/{name}",
        "/ui/jobs",
        "/ui/jobs?q=status:ready",
        "/ui/jobs?q=status:dead",
        "/ui/jobs?q=status:dead+kind:kind_3",
        "/ui/jobs?q=kind:none",
        f"/ui/jobs?q=queue:{name}+status:ready",
        f"/ui/jobs?q=queue:{name}+status:dead",
        f"/ui/jobs/{job_id}",
        f"/ui/errors?queue={name}",
        f"/ui/errors/{quote(group)}?queue={name}",
        "/ui/schedules",
        "/ui/schedules/nightly-1",
        "/ui/events",
        "/ui/consumers/billing",
        "/ui/workers",
        "/ui/bulk?action=retry&q=status:dead",
        "/ui/bulk?action=retry&q=status:dead+kind:kind_3",
        "/ui/audit",
        "/ui/doctor",
        "/ui/keys",
        "/ui/about",
    ]


def measure(address: str) -> None:
    """Prints a row per page."""
    pages, api = paths(address), Api(address)
    times: "dict[str, list[float]]" = {path: [] for path in pages}
    sizes = {}
    for _ in range(ROUNDS + 1):
        for path in pages:
            taken, sizes[path] = api.page(path)
            times[path].append(taken)
            time.sleep(PAUSE_S)
    print("| page | median, ms | longest, ms | bytes |\n|---|---|---|---|")
    for path in pages:
        # The first look starts what reads for all viewers.
        taken = times[path][1:]
        print(
            f"| `{path}` | {statistics.median(taken):.1f} | {max(taken):.1f} | {sizes[path]} |",
            flush=True,
        )


def main() -> None:
    address = urlsplit(sys.argv[1]).netloc
    queues = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
    jobs = int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000
    begun = time.monotonic()
    if not Api(address).call("GET", "/v1/queues")["queues"]:
        fill(address, queues, jobs)
        print(f"filled in {time.monotonic() - begun:.0f} s", flush=True)
    measure(address)


if __name__ == "__main__":
    main()
