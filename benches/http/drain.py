"""Reserves and acks jobs of the queue `default` by HTTP, 100 per call, for some seconds.

    python3 benches/http/drain.py http://127.0.0.1:8080 CLIENTS
"""

import http.client
import json
import multiprocessing
import sys
import time
from urllib.parse import urlsplit

SECONDS = 6
LIMIT = 100


def drain(address: str, worker: int, done: "multiprocessing.Queue[int]") -> None:
    """One client: until the time is over or there is nothing left."""
    connection = http.client.HTTPConnection(address)
    headers = {"Content-Type": "application/json"}
    reserve = json.dumps({"queues": ["default"], "worker": f"w{worker}", "limit": LIMIT})
    count, end = 0, time.monotonic() + SECONDS
    while time.monotonic() < end:
        connection.request("POST", "/v1/reserve", reserve, headers)
        leases = json.load(connection.getresponse())["leases"]
        if not leases:
            break
        acks = json.dumps({"acks": [{"token": lease["token"]} for lease in leases]})
        connection.request("POST", "/v1/ack", acks, headers)
        outcomes = json.load(connection.getresponse())["outcomes"]
        count += sum(outcome["outcome"] == "acked" for outcome in outcomes)
    done.put(count)


def main() -> None:
    address, clients = urlsplit(sys.argv[1]).netloc, int(sys.argv[2])
    done: "multiprocessing.Queue[int]" = multiprocessing.Queue()
    begun = time.monotonic()
    all_of_them = [
        multiprocessing.Process(target=drain, args=(address, worker, done))
        for worker in range(clients)
    ]
    for client in all_of_them:
        client.start()
    jobs = sum(done.get() for _ in all_of_them)
    print(f"{clients} clients: {jobs / (time.monotonic() - begun):.0f} jobs/s")


if __name__ == "__main__":
    main()
