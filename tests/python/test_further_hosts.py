"""How hosts of one simulation know each other, and what they compare."""

from __future__ import annotations

import hashlib
import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sesame.errors import InputError, SimulationError
from sesame.installed import find_installed
from sesame.simulation import further_host, handshake
from sesame.simulation.handshake import (
    TOKEN_BYTES,
    HandshakeError,
    accept,
    join,
    receive_reason,
    send_reason,
)
from sesame.simulation.hosts import check_hosts, connected_hosts, digest_of, further_hosts

TOKEN = bytes(range(TOKEN_BYTES))


@pytest.fixture
def ends():
    a, b = socket.socketpair()
    with a, b:
        yield a, b


@pytest.fixture
def other_end():
    """other_end(function, *arguments) runs it in a thread; its errors do not matter."""
    threads = []

    def start(function: Callable[..., object], *arguments: object) -> threading.Thread:
        def run() -> None:
            with suppress(HandshakeError, OSError):
                function(*arguments)

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        return threads[-1]

    yield start
    for thread in threads:
        thread.join()


def test_both_ends_have_the_token(ends, other_end):
    accepted = []
    thread = other_end(lambda: accepted.append(accept(ends[0], TOKEN, 3)))
    join(ends[1], TOKEN, 2)
    thread.join()
    send_reason(ends[1], "")
    assert receive_reason(ends[0]) == ""
    assert accepted == [2]


def test_another_token_is_refused_by_both(ends, other_end):
    other_end(lambda: join(ends[1], bytes(TOKEN_BYTES), 1))
    with pytest.raises(HandshakeError, match="not the token"):
        accept(ends[0], TOKEN, 2)
    ends[0].close()


def test_a_first_host_without_the_token_is_refused(ends, other_end):
    """It sends back what it gets."""

    def pretend() -> None:
        ends[0].sendall(bytes(TOKEN_BYTES))
        ends[0].recv(4 + TOKEN_BYTES)
        ends[0].sendall(ends[0].recv(TOKEN_BYTES))

    other_end(pretend)
    with pytest.raises(HandshakeError, match="not the token"):
        join(ends[1], TOKEN, 1)


@pytest.mark.parametrize("host", [0, 2, 1 << 31])
def test_a_number_that_no_host_has_is_refused(host, ends, other_end):
    other_end(join, ends[1], TOKEN, host)
    with pytest.raises(HandshakeError, match="no number of a host"):
        accept(ends[0], TOKEN, 2)
    ends[0].close()


def test_who_ends_or_sends_nonsense_is_refused(ends, other_end):
    ends[1].sendall(b"GET / HTTP/1.1\r\n" * 20)
    with pytest.raises(HandshakeError, match="not the token"):
        accept(ends[0], TOKEN, 2)
    ends[1].close()
    with pytest.raises(HandshakeError):
        accept(ends[0], TOKEN, 2)


def test_who_says_nothing_is_given_up(ends, monkeypatch):
    monkeypatch.setattr(handshake, "PATIENCE_S", 0.05)
    with pytest.raises(HandshakeError, match="timed out"):
        accept(ends[0], TOKEN, 2)


def test_a_reason_is_limited(ends):
    send_reason(ends[1], "x" * 100_000)
    assert receive_reason(ends[0]) == "x" * (1 << 14)
    ends[1].sendall(b"\xff\xff\xff\xff")
    with pytest.raises(HandshakeError, match="no answer"):
        receive_reason(ends[0])


@pytest.fixture
def described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The description of a run that this host can simulate."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    program = tmp_path / "app"
    program.write_bytes(b"program")
    simulator = "sesame-simulator-mpich"
    return {
        "directory": str(tmp_path),
        "environment": dict(os.environ),
        "simulator": [simulator, digest_of(find_installed(simulator))],
        "program": hashlib.sha256(b"program").hexdigest(),
        "scenario": {"program": "./app"},
    }


def test_a_host_with_the_same_programs_can_simulate(described):
    assert further_host._why_not(described) == ""


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"directory": "/no/such"}, "the directory /no/such: No such file or directory"),
        ({"simulator": ["sesame-simulator-mpich", "0"]}, "is not that of the first host: install"),
        ({"simulator": ["sesame-simulator-no", "0"]}, "sesame-simulator-no is missing"),
        ({"program": "0"}, "its app is not that of the first host: copy the program there"),
        ({"scenario": {"program": "./none"}}, "./none: No such file or directory"),
    ],
)
def test_a_host_with_other_programs_says_why_not(changed, why, described):
    assert why.replace("./none", "none") in further_host._why_not(described | changed)


def test_the_own_host_does_not_count():
    own = socket.gethostname()
    assert further_hosts(["localhost", "b", own, "c", "b"]) == ("b", "c")
    check_hosts([own], "ssh", 1)


@pytest.mark.parametrize(
    ("names", "launcher", "workers"),
    [(["b"], "ssh", 1), (["", "b"], "ssh", 4), (["-oProxyCommand=x"], "ssh", 2), (["b"], " ", 2)],
)
def test_wrong_hosts_are_refused(names, launcher, workers):
    with pytest.raises(InputError):
        check_hosts(names, launcher, workers)


def scenario_of(tmp_path: Path) -> dict[str, Any]:
    for name in ("machine", "app"):
        (tmp_path / name).write_bytes(b"")
    return {
        "machine": str(tmp_path / "machine"),
        "placement": "block",
        "compute": {},
        "program": str(tmp_path / "app"),
    }


OTHER_CLIENT = """
import contextlib, json, socket, subprocess, sys
line = sys.stdin.buffer.readline()
run = json.loads(line)
with socket.create_connection((run["address"], run["port"])) as connection:
    connection.sendall(bytes(200))
    with contextlib.suppress(ConnectionResetError):
        while connection.recv(1000):
            pass
host = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
host.stdin.write(line)
host.stdin.flush()
sys.stdin.buffer.read()
host.stdin.close()
sys.exit(host.wait())
"""


def test_another_client_is_not_let_in(tmp_path):
    """Before the host, something else connects."""
    (tmp_path / "launch").write_text(f"#!{sys.executable}\n{OTHER_CLIENT}")
    (tmp_path / "launch").chmod(0o700)
    simulator = find_installed("sesame-simulator-mpich")
    launcher = str(tmp_path / "launch")
    with connected_hosts(["127.0.0.2"], launcher, simulator, scenario_of(tmp_path)) as connected:
        assert len(connected.descriptors) == 1
        assert connected.scenario["hosts"]["names"][1:] == ["127.0.0.2"]


def test_a_host_that_differs_is_named_with_the_reason(tmp_path):
    scenario = scenario_of(tmp_path)
    program = scenario["program"]
    (tmp_path / "launch").write_text(f'#!/bin/sh\necho other > {program}\nexec "$@"\n')
    (tmp_path / "launch").chmod(0o700)
    simulator = find_installed("sesame-simulator-mpich")
    hosts = connected_hosts(["127.0.0.2"], str(tmp_path / "launch"), simulator, scenario)
    with pytest.raises(SimulationError, match=r"host 127.0.0.2: its .*app is not that"), hosts:
        pass
