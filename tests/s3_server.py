"""An S3 server of the tests: moto's, in a process of its own, with one bucket."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 60
BUCKET = "repository"


@contextmanager
def server() -> Iterator[str]:
    """The URL of the server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(running, url)
        made = urllib.request.Request(f"{url}/{BUCKET}", method="PUT")
        made.add_header("Authorization", "AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/s3/x")
        urllib.request.urlopen(made, timeout=SECONDS).close()
        yield url
    finally:
        running.terminate()
        running.wait(SECONDS)


def _wait(running: subprocess.Popen[bytes], url: str) -> None:
    end = time.monotonic() + SECONDS
    while True:
        assert running.poll() is None, "the S3 server has ended"
        try:
            urllib.request.urlopen(f"{url}/moto-api/data.json", timeout=5).close()
            return
        except OSError:
            assert time.monotonic() < end, "the S3 server does not answer"
            time.sleep(0.05)
