"""Daemon and collector over TLS, and what goes wrong: each has its words and a way on."""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command_line import SESAME, Outcome, run
from tests.integration.certificates import make_authority, sign
from tests.integration.networks import PATIENCE_S

from sesame.datasets import DataSet

pytestmark = pytest.mark.usefixtures("network_namespaces")

READS = "import os\nf = os.open('/dev/zero', os.O_RDONLY)\nfor _ in range(20_000): os.read(f, 7)"
# Calls that hardly any other program makes: the daemon traces those of the whole system.
SYNCS = "import os\nf = os.open('/dev/shm', os.O_RDONLY)\nfor _ in range(20_000): os.fdatasync(f)"


@pytest.fixture
def signed(tmp_path, debian_program) -> tuple[str, ...]:
    """The options of a server whose certificate `ours` has signed, and not `other`."""
    debian_program("openssl", "openssl")
    for name in ("ours", "other"):
        make_authority(tmp_path, name)
    sign(tmp_path, "ours", "node", "IP:127.0.0.1", "cert")
    return ("--certificate", "cert.pem", "--key", "cert.key")


def keep_lines(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    with process.stderr as said:
        for line in said:
            lines.put(line)


class Servers:
    """Daemons and collectors of this machine; what they say is kept."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.running: list[subprocess.Popen[str]] = []
        self.said: dict[int, queue.Queue[str]] = {}

    def begin(self, *words: str) -> tuple[subprocess.Popen[str], str]:
        """A process, and the address that it printed."""
        process = subprocess.Popen(
            [*SESAME, *words], stderr=subprocess.PIPE, text=True, cwd=self.directory
        )
        self.running.append(process)
        lines = self.said[process.pid] = queue.Queue()
        threading.Thread(target=keep_lines, args=(process, lines)).start()
        return process, self.wait_for(process, "token in").split("http")[1].split(",")[0]

    def begin_daemon(self, *words: str) -> tuple[subprocess.Popen[str], str]:
        place = (
            "--state-directory",
            "node",
            "--listen",
            "127.0.0.1:0",
            "--node",
            "n1",
            "--budget",
            "none",
        )
        return self.begin("measure", "daemon", "--interval", "0.3", *place, *words)

    def begin_collector(self, *words: str, at: str = "127.0.0.1:0") -> tuple:
        place = ("-o", "received", "--listen", at, "--token-file", "rt")
        return self.begin("collect", *place, *words)

    def wait_for(self, process: subprocess.Popen[str], words: str) -> str:
        end = time.monotonic() + PATIENCE_S
        while True:
            line = self.said[process.pid].get(timeout=max(end - time.monotonic(), 0.01))
            if words in line:
                return line

    def end(self, process: subprocess.Popen[str], number: int = signal.SIGTERM) -> int:
        self.running.remove(process)
        process.send_signal(number)
        return process.wait(60)

    def control(self, verb: str, address: str, *words: str) -> Outcome:
        place = ("--nodes", address, "--token-file", "node/token")
        return run([*SESAME, "measure", verb, *place, *words], self.directory)

    def wait_for_more_readings(self, address: str, kind: str, more: int = 3) -> None:
        """Until as many more are `delivered` or `waiting`."""
        end = time.monotonic() + PATIENCE_S
        least = None
        while True:
            answer = self.control("status", address, "--json").json
            count = answer[address]["delivery"][kind]
            least = count + more if least is None else least
            if count >= least:
                return
            assert time.monotonic() < end
            time.sleep(0.05)

    def received(self, name: str) -> list[dict]:
        data_sets = map(DataSet, sorted((self.directory / "received").glob("*.sesame")))
        return [row for one in data_sets if one.has(name) for row in one.table(name).to_pylist()]


@pytest.fixture
def servers(tmp_path) -> Iterator[Servers]:
    made = Servers(tmp_path)
    yield made
    for process in list(made.running):
        made.end(process)


def test_everything_goes_over_tls(servers, signed):
    collector, there = servers.begin_collector(*signed)
    way = ("--destination", f"http{there}", "--destination-token-file", "rt")
    daemon, address = servers.begin_daemon(*signed, *way, "--destination-ca", "ours.pem")
    assert there.startswith("s://")
    assert address.startswith("s://")
    address = f"http{address}"
    assert servers.control("start", address, "fs.read=trace", "--ca", "ours.pem").status == 0
    subprocess.run([sys.executable, "-c", READS], check=True)
    recorded = ("--ca", "ours.pem", "-o", "r.sesame", "--", sys.executable, "-c", READS)
    outcome = servers.control("record", address, *recorded)
    assert outcome.status == 0, outcome.stderr
    for words, reason in (
        ((), "its certificate is not trusted: unable to get local issuer"),
        (("--ca", "other.pem"), "its certificate is not trusted: "),
        (("--ca", "node/token"), "node/token: not a certificate"),
        (("--ca", "nowhere.pem"), "nowhere.pem: "),
    ):
        refused = servers.control("status", address, *words)
        assert refused.status != 0
        assert reason in refused.stderr
    plain = servers.control("status", address.replace("https", "http"))
    assert plain.status != 0
    assert plain.stderr.count("error: ") == 1
    assert servers.end(daemon) == 0
    assert servers.end(collector) == 0
    for rows in (
        servers.received("kernel_event"),
        DataSet(servers.directory / "r.sesame").table("kernel_event").to_pylist(),
    ):
        assert sum(row["bytes"] == 7 for row in rows) >= 20_000


@pytest.mark.long
def test_a_destination_that_is_not_trusted_or_does_not_trust_is_named(servers, signed):
    _, there = servers.begin_collector(*signed)
    (servers.directory / "wrong").write_text("x" * 40)
    (servers.directory / "wrong").chmod(0o600)
    entry = f'= {{address = "http{there}", ca = "ours.pem", token_file ='
    (servers.directory / "sesamed.toml").write_text(
        f'destinations.wrong {entry} "wrong"}}\ndestinations.right {entry} "rt"}}\n'
    )
    way = ("--destination", f"http{there}", "--destination-token-file", "rt")
    daemon, address = servers.begin_daemon(
        *way, "--destination-ca", "other.pem", "--settings", "sesamed.toml"
    )
    servers.wait_for(daemon, "its certificate is not trusted")
    assert servers.control("set", f"http{address}", "--destination", "wrong").status == 0
    servers.wait_for(daemon, "it does not accept this token")
    assert servers.control("set", f"http{address}", "--destination", "right").status == 0
    state = servers.control("status", f"http{address}", "--json").json[f"http{address}"]
    assert state["delivery"]["dropped"] == 0
    end = time.monotonic() + 30
    while not state["delivery"]["delivered"]:
        assert time.monotonic() < end
        time.sleep(0.05)
        state = servers.control("status", f"http{address}", "--json").json[f"http{address}"]
    refused = servers.control("start", f"http{address}", "fs.seek")
    refused.assert_refused("fs has no point seek")
    servers.control("start", f"http{address}", "fs=loud").assert_refused("expected POINT")


def test_a_collector_that_comes_later_gets_everything(servers):
    (servers.directory / "rt").write_text("t" * 40)
    (servers.directory / "rt").chmod(0o600)
    way = ("--destination", "http://127.0.0.1:7999", "--destination-token-file", "rt")
    daemon, _ = servers.begin_daemon(*way)
    servers.wait_for(daemon, "readings wait: http://127.0.0.1:7999: Connection refused")
    collector, _ = servers.begin_collector(at="127.0.0.1:7999")
    servers.wait_for(daemon, "delivery works again; 0 readings were dropped")
    assert servers.end(daemon) == 0
    assert servers.end(collector) == 0
    numbers = [row["sequence"] for row in servers.received("kernel_reading")]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > 1


@pytest.mark.usefixtures("alone")
def test_a_full_disk_is_reported_and_when_there_is_space_again_nothing_is_missing(
    servers, small_disk
):
    (servers.directory / "received").symlink_to(small_disk)
    collector, there = servers.begin_collector("--segment", "0.02")
    way = ("--destination", f"http{there}", "--destination-token-file", "rt")
    daemon, address = servers.begin_daemon("--level", "fs.sync=trace", *way)
    with (small_disk / "ballast").open("wb", buffering=0) as ballast:
        while True:
            try:
                ballast.write(b"x" * 4096)
            except OSError:
                break
    subprocess.run([sys.executable, "-c", SYNCS], check=True)
    servers.wait_for(collector, "No space left on device; daemons wait")
    line = servers.wait_for(daemon, "readings wait: ")
    assert "the collector cannot write: No space left on device" in line
    servers.wait_for_more_readings(f"http{address}", "waiting")
    for path in small_disk.glob("*.sesame"):
        DataSet(path).table("kernel_reading")  # whole
    (small_disk / "ballast").unlink()
    servers.wait_for(collector, "resolved:")
    assert servers.control("stop", f"http{address}").status == 0
    assert servers.control("read", f"http{address}", "--json").status == 0
    state = servers.control("status", f"http{address}", "--json").json[f"http{address}"]
    assert servers.end(daemon) == 0
    assert servers.end(collector) == 0
    numbers = [row["sequence"] for row in servers.received("kernel_reading")]
    assert sorted(numbers) == list(range(len(numbers)))
    accounts = servers.received("kernel_trace")
    assert sum(row["written"] + row["discarded"] for row in accounts) == state["events"]["seen"]
    assert len(servers.received("kernel_event")) >= 20_000
    left = {path.name for path in small_disk.iterdir() if not path.name.endswith(".sesame")}
    assert left == {".received.json"}


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "moment", ["at once", "when their directories are there", "when they serve"]
)
def test_whenever_they_are_ended_nothing_half_made_stays(tmp_path, number, moment):
    """What stays is what the next start takes up."""
    directory = ("--state-directory", "node", "--listen", "127.0.0.1:0", "--destination", "sets")
    daemon = ["measure", "daemon", "--level", "task=trace", "--interval", "0.1", *directory]
    collector = ["collect", "-o", "received", "--listen", "127.0.0.1:0", "--token-file", "rt"]
    both = [
        subprocess.Popen([*SESAME, *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        for words in (daemon, collector)
    ]
    end = time.monotonic() + PATIENCE_S
    if moment == "when their directories are there":
        while not all((tmp_path / name).exists() for name in ("node", "received")):
            assert time.monotonic() < end
            time.sleep(0.01)
    elif moment == "when they serve":
        for process in both:
            while "token in" not in process.stderr.readline():
                assert time.monotonic() < end
    for process in both:
        process.send_signal(number)
    for process in both:
        _, said = process.communicate(timeout=PATIENCE_S)
        if process.returncode == -number or "Fatal Python error: init_" in said:
            continue  # Python itself has not started yet
        if process.returncode == -signal.SIGINT and "interrupted" in said:
            continue  # within exec(), as of an import: Python ends so even if code caught it
        assert process.returncode in (0, 130), said
        assert "Traceback" not in said
    kept = {"token", "daemon.lock", "rt", ".received.json", "info.json", "undelivered"}
    kept |= {"counters", "settings", "quota-reached", "audit.log", "audit-no-token.log"}
    kept |= {"collector-audit.log", "collector-audit-no-token.log"}
    for path in tmp_path.rglob("*"):
        is_record = path.suffix in (".parquet", ".sesame")
        assert path.name in {*kept, "node", "sets", "received"} or is_record, path
    for token in [*tmp_path.glob("node/token"), *tmp_path.glob("rt")]:
        assert len(token.read_text().strip()) > 30


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_recording_that_is_ended_leaves_nothing_and_ends_its_command(servers, number):
    _, address = servers.begin_daemon()
    place = ("--nodes", f"http{address}", "--token-file", "../node/token")
    (servers.directory / "work").mkdir()
    command = ("--", sys.executable, "-c", "import time; print('on', flush=True); time.sleep(600)")
    process = subprocess.Popen(
        [*SESAME, "measure", "record", *place, *command],
        cwd=servers.directory / "work",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "on\n"
    process.send_signal(number)
    assert process.communicate(timeout=60)[0] == ""  # the command holds it no more
    assert process.returncode == 130
    assert list((servers.directory / "work").iterdir()) == []
