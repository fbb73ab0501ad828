"""libsesame (control/sesame.c) against answers and addresses that our daemon does not give."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

READ = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.sesame_error.restype = ctypes.c_char_p
for _ in range(2):
    counts = (ctypes.c_uint64 * 4)()
    if library.sesame_read(b"fs.sync", counts) == 0:
        print(*counts)
    else:
        print(library.sesame_error().decode())
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("control") / "libsesame.so"
    source = ROOT / "control/sesame.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", made, source, "-lpthread"], check=True)
    return made


@pytest.fixture
def answer() -> Iterator[Callable[..., int]]:
    """answer(status, body, host="127.0.0.1"): a daemon that always says this; gives its port."""
    servers = []

    def serve(status: int, body: str, host: str = "127.0.0.1") -> int:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body.encode())))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        server = HTTPServer((host, 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server.server_address[1]

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def read(library: Path, daemon: str, before: str = "") -> str:
    """What sesame_read() gives in a process of its own, called twice, or the error."""
    command = [sys.executable, "-c", READ, str(library)]
    if before:
        command = ["unshare", "-m", "sh", "-c", before + ' && exec "$@"', "sh", *command]
    environment = {**os.environ, "SESAME_DAEMON": daemon, "SESAME_TOKEN": "t"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    first, second = done.stdout.splitlines()
    assert first == second
    return first


def test_answers_may_be_written_in_any_way_that_json_allows(library, answer):
    body = """
      { "point" : "a \\"count\\": 9, {[",
        "classes":[ {"count":1,"bytes":2}, "duration_ns" ],
        "duration_ns"\t:\t40 , "count"
          : 10, "timed":30,"bytes": 20 }
    """
    assert read(library, f"127.0.0.1:{answer(200, body)}") == "10 20 30 40"


def test_an_error_is_given_as_the_daemon_says_it(library, answer):
    port = answer(404, '{"status": 404, "error" : "there is no \\"fs.sync\\" here"}')
    assert read(library, f"127.0.0.1:{port}") == 'there is no "fs.sync" here'
    assert read(library, f"127.0.0.1:{answer(500, '[]')}") == "the daemon answers with status 500"


def test_what_is_left_of_a_long_answer_is_not_taken_for_the_next_one(library, answer):
    # The library's buffer has 4,096 bytes.
    rest = " " * 5000 + "HTTP/1.1 500 Wrong\r\nContent-Length: 2\r\n\r\n[]"
    port = answer(200, '{"count": 1}' + rest)
    assert read(library, f"127.0.0.1:{port}") == "1 0 0 0"


def test_all_addresses_of_a_name_are_tried(library, answer, tmp_path):
    can_mount = os.geteuid() == 0 and shutil.which("unshare") is not None
    if not can_mount or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
        pytest.skip("needs root, to give a name two addresses")
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.2 two.test\n127.0.0.1 two.test\n")
    # Whichever address the C library gives first, one of the daemons is at the other.
    for host in ("127.0.0.1", "127.0.0.2"):
        port = answer(200, '{"count": 1}', host)
        assert read(library, f"two.test:{port}", f"mount --bind {hosts} /etc/hosts") == "1 0 0 0"
