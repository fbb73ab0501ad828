"""The tutorial of a thousand nodes: its commands, its settings in two processes, its alerts."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_collector import FakeNode, data_sets, rows
from tests.command_line import SESAME, run
from tests.tutorials import DOCS, FENCE

from sesame.errors import SesameError
from sesame.measurement.clocks import own_offset
from sesame.measurement.collector.intake import Intake
from sesame.measurement.collector.metrics import as_text
from sesame.measurement.collector.relay import Relay
from sesame.measurement.collector.settings import Settings
from sesame.measurement.collector.store import Store
from sesame.measurement.connection import Connection

PAGE = (DOCS / "tutorial-thousand-nodes.md").read_text()
PATIENCE_S = 60


def blocks(language: str) -> list[str]:
    return [text for name, text in FENCE.findall(PAGE) if name == language]


@pytest.fixture
def tokens(tmp_path) -> Path:
    """A directory in which the commands of the page were run."""
    lines = [line for block in blocks("") for line in block.splitlines() if line[:7] == "sesame "]
    assert len(lines) == 3
    for line in lines:
        outcome = run([*SESAME, *shlex.split(line)[1:]], tmp_path)
        assert outcome.status == 0, outcome.stderr
    assert "node0001" in outcome.stdout
    return tmp_path


class Process:
    """`sesame collect` with the page's settings, in a directory of its own and without TLS."""

    def __init__(self, directory: Path, text: str, tokens: Path, **changes: str) -> None:
        directory.mkdir()
        given = tomllib.loads(text) | {"output": str(directory / "out"), "listen": "127.0.0.1:0"}
        Settings(**given).check()  # as they are on the page
        given = {k: v for k, v in given.items() if k not in ("certificate", "key", "forward_ca")}
        lines = [f'{key} = "{value}"\n' for key, value in (given | changes).items()]
        (directory / "collector.toml").write_text("".join(lines))
        (directory / "collector-tokens").write_bytes(tokens.read_bytes())
        (directory / "collector-tokens").chmod(0o600)
        words = ["--settings", directory / "collector.toml", "--token-file", directory / "token"]
        self.process = subprocess.Popen(
            [*SESAME, "collect", *words], stderr=subprocess.PIPE, text=True
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert "http://" in line, line
        self.address = line.split("http://")[1].split(",")[0]
        self.output = directory / "out"

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0


@pytest.fixture
def levels(tokens, tmp_path) -> Iterator[tuple[Process, Process]]:
    of_collector, of_relay = (text for text in blocks("toml") if "output" in text)
    top = Process(tmp_path / "top", of_collector, tokens / "collector-tokens")
    way = {
        "forward_to": f"http://{top.address}",
        "forward_token_file": str(tokens / "relay-tokens/relay0"),
    }
    relay = Process(tmp_path / "relay", of_relay, tokens / "relay0-tokens", **way)
    yield top, relay
    for one in (relay, top):
        if one.process.poll() is None:
            one.end()


@pytest.mark.long
def test_a_reading_goes_from_a_node_over_a_relay_into_a_data_set(levels, tokens):
    top, relay = levels
    token = (tokens / "node-tokens/node0001").read_text().strip()
    node = FakeNode("node0001")
    node.node.offset = own_offset()
    connection = Connection(relay.address, token, 0)
    connection.ask("POST", "/v1/readings", node.read().encode())
    other = FakeNode("node0000", ahead_ns=10**18).read().encode()
    with pytest.raises(SesameError, match="node0001 may not deliver readings of node0000"):
        connection.ask("POST", "/v1/readings", other)
    connection.close()
    end = time.monotonic() + PATIENCE_S
    while not list(top.output.glob(".journal-*")):
        assert time.monotonic() < end
        time.sleep(0.05)
    relay.end()
    top.end()
    [data_set] = data_sets(top.output)
    assert [row["node"] for row in rows(data_set, "kernel_reading")] == ["node0001"]
    assert list(relay.output.glob(".journal-*")) == []


def test_the_metrics_of_the_alerts_exist(tmp_path):
    store = Store(tmp_path, 600, is_relay=True)
    intake = Intake(store, tmp_path, print)
    intake.take(FakeNode("a").read().encode(), "a", lambda _: None)
    relay = Relay(store, Connection("127.0.0.1", "t", 1), print, intake.refuse)
    text = as_text(store, intake, relay).decode()
    [rules] = blocks("yaml")
    named = set(re.findall(r"sesame_collector_\w+", rules))
    assert len(named) > 7
    assert named <= set(re.findall(r"^(\w+)", text, re.M))
    store.close()
