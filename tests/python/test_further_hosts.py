"""How hosts of one simulation know each other, and what they compare."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import pytest

from sesame.errors import InputError, SimulationError
from sesame.installed import find_installed
from sesame.simulation import further_host, handshake, hosts
from sesame.simulation.handshake import (
    TOKEN_BYTES,
    HandshakeError,
    accept,
    join,
    receive_reason,
    send_reason,
)
from sesame.simulation.host import Host
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


def test_who_ends_or_sends_other_bytes_is_refused(ends, other_end):
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


def test_who_says_little_at_a_time_is_given_up(ends, other_end, monkeypatch):
    """Each part is in time, all of them are not."""
    monkeypatch.setattr(handshake, "PATIENCE_S", 0.3)

    def drip() -> None:
        for _ in range(4 + 2 * TOKEN_BYTES):
            ends[1].sendall(b"x")
            time.sleep(0.05)

    other_end(drip)
    with pytest.raises(HandshakeError, match="timed out"):
        accept(ends[0], TOKEN, 2)
    ends[0].close()


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


def test_a_simulator_that_is_about_to_end_has_ended():
    """As its kernel task is while the last of its threads ends, and its connections are closed."""
    ends_first = "import ctypes, sys, threading, time\n"
    ends_first += "threading.Thread(target=time.sleep, args=(60,)).start()\n"
    ends_first += "sys.stdin.read()\n"
    ends_first += "ctypes.CDLL(None).syscall(60, 0)"  # _exit of this thread alone (x86-64)
    command = [sys.executable, "-c", ends_first]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert not further_host._has_ended(process)
        process.stdin.close()
        while not further_host._has_ended(process):
            time.sleep(0.01)
        assert process.poll() is None
        process.kill()
        process.wait()
        assert further_host._has_ended(process)


def test_the_own_host_does_not_count():
    own = socket.gethostname()
    assert further_hosts(["localhost", "b", own, "c", "b"]) == ("b", "c")
    check_hosts([own], "ssh", 1)


@pytest.mark.parametrize(
    ("names", "launcher", "workers"),
    [
        (["b"], "ssh", 1),
        (["", "b"], "ssh", 4),
        (["-oProxyCommand=x"], "ssh", 2),
        (["b"], " ", 2),
        (["b"], "ssh '", 2),
    ],
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


def launcher_in(tmp_path: Path, script: str) -> str:
    """The path of a launcher that does this before it runs the command of the further host."""
    (tmp_path / "launch").write_text(script)
    (tmp_path / "launch").chmod(0o700)
    return str(tmp_path / "launch")


def simulator() -> Host:
    return Host(find_installed("sesame-simulator-mpich"))


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


SILENT_CLIENTS = """
import json, socket, subprocess, sys, threading, time
line = sys.stdin.buffer.readline()
run = json.loads(line)
clients = [socket.create_connection((run["address"], run["port"])) for _ in range(3)]
def drip():
    for _ in range(60):
        clients[2].sendall(b"x")
        time.sleep(0.5)
threading.Thread(target=drip, daemon=True).start()
host = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
host.stdin.write(line)
host.stdin.flush()
sys.stdin.buffer.read()
host.stdin.close()
sys.exit(host.wait())
"""


def test_another_client_is_not_let_in(tmp_path):
    """Before the host, something else connects."""
    launcher = launcher_in(tmp_path, f"#!{sys.executable}\n{OTHER_CLIENT}")
    with connected_hosts(["127.0.0.2"], launcher, simulator(), scenario_of(tmp_path)) as connected:
        assert len(connected.descriptors) == 1
        assert connected.scenario["hosts"]["names"][1:] == ["127.0.0.2"]


def test_clients_that_say_nothing_keep_no_host_waiting(tmp_path, monkeypatch):
    """Two say nothing, one a byte at a time."""
    monkeypatch.setattr(handshake, "PATIENCE_S", 1000.0)
    launcher = launcher_in(tmp_path, f"#!{sys.executable}\n{SILENT_CLIENTS}")
    with connected_hosts(["127.0.0.2"], launcher, simulator(), scenario_of(tmp_path)) as connected:
        assert len(connected.descriptors) == 1


COPIED_INPUT = """#!/bin/sh
read -r line
printf '%s\\n' "$line" > {copy}
(printf '%s\\n' "$line"; cat) | "$@"
"""


def test_no_client_can_connect_later(tmp_path):
    copy = tmp_path / "description"
    launcher = launcher_in(tmp_path, COPIED_INPUT.format(copy=copy))
    with connected_hosts(["127.0.0.2"], launcher, simulator(), scenario_of(tmp_path)):
        run = json.loads(copy.read_text())
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((run["address"], run["port"]))


def test_a_launcher_that_does_not_read_is_given_up(tmp_path, monkeypatch):
    """The description is longer than a pipe."""
    monkeypatch.setattr(hosts, "CONNECT_PATIENCE_S", 0.3)
    monkeypatch.setattr(hosts, "_END_PATIENCE_S", 0.1)
    scenario = scenario_of(tmp_path)
    Path(scenario["machine"]).write_bytes(bytes(1 << 20))
    launcher = launcher_in(tmp_path, "#!/bin/sh\nexec sleep 60\n")
    connecting = connected_hosts(["127.0.0.2"], launcher, simulator(), scenario)
    with pytest.raises(SimulationError, match=r"host 127.0.0.2 did not connect"), connecting:
        pass


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_an_own_address_is_refused(address, tmp_path):
    connecting = connected_hosts([address], "env", simulator(), scenario_of(tmp_path))
    with pytest.raises(InputError, match=rf"{address} is an address of this host"), connecting:
        pass


def test_an_address_at_which_this_host_cannot_listen_is_refused():
    with pytest.raises(InputError, match=r"b: cannot listen at 203.0.113.1: "):
        hosts._listen("203.0.113.1", "b")


def test_what_a_launcher_prints_goes_through_the_pump(tmp_path):
    launcher = launcher_in(tmp_path, '#!/bin/sh\necho out; echo err >&2; exec "$@"\n')
    shown = Host(simulator().executable, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    printed = []

    def pump(pipes: Sequence[IO[bytes]]) -> None:
        printed.extend(pipe.read() for pipe in pipes)

    scenario = scenario_of(tmp_path)
    with connected_hosts(["127.0.0.2"], launcher, shown, scenario, pump=pump):
        pass
    assert printed == [b"out\n", b"err\n"]


def test_a_host_whose_input_ends_does_not_wait_for_the_first_one(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listening:  # it accepts no client
        first = {"address": "127.0.0.1", "port": listening.getsockname()[1]}
        described = {**first, "host": 1, "token": TOKEN.hex()}
        done = subprocess.run(
            [sys.executable, "-m", "sesame.simulation.further_host"],
            input=json.dumps(described).encode() + b"\n",
            capture_output=True,
            check=False,
        )
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"")


def test_a_host_that_differs_is_named_with_the_reason(tmp_path):
    scenario = scenario_of(tmp_path)
    script = f'#!/bin/sh\necho other > {scenario["program"]}\nexec "$@"\n'
    connecting = connected_hosts(
        ["127.0.0.2"], launcher_in(tmp_path, script), simulator(), scenario
    )
    with pytest.raises(SimulationError, match=r"host 127.0.0.2: its .*app is not that"), connecting:
        pass
