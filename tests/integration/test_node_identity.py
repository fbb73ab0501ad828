"""Nodes at a collector over TLS: each writes as itself only, by its token or its certificate."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command_line import SESAME, run
from tests.integration.certificates import make_authority, sign
from tests.python.fake_probes import all_probes

from sesame.datasets import DataSet
from sesame.errors import InputError, SesameError
from sesame.measurement.connection import Connection
from sesame.measurement.daemon.node import Node


def reading_of(name: str) -> bytes:
    probes = all_probes()
    node = Node(name, probes, {})
    probes["fs"].count(point=0, class_=0, group=1, size=1000, duration=5)
    return node.read().encode()


class Collector:
    """One with a certificate, which knows the nodes n1 (token) and n3 (certificate)."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        make_authority(directory, "site")
        make_authority(directory, "other-site")
        sign(directory, "site", "hub", "IP:127.0.0.1", "hub")
        sign(directory, "site", "n3", "DNS:n3", "n3")
        sign(directory, "other-site", "n3", "DNS:n3", "false-n3")
        for name, role in (("n1", "node"), ("hub2", "relay"), ("prometheus", "reader")):
            self.token("add", name, "--role", role, "--directory", "tokens-of-nodes")
        options = ["-o", "received", "--listen", "127.0.0.1:0", "--token-file", "own"]
        options += ["--certificate", "hub.pem", "--key", "hub.key", "--client-ca", "site.pem"]
        self.process = subprocess.Popen(
            [*SESAME, "collect", *options], cwd=directory, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert "token in collector-tokens" in line, line
        self.address = line.split("collect: ")[1].split(",")[0]
        self._said = threading.Thread(target=self.process.stderr.read)
        self._said.start()

    def token(self, *words: str) -> None:
        outcome = run([*SESAME, "token", *words, "--tokens", "collector-tokens"], self.directory)
        assert outcome.status == 0, outcome.stderr

    def connect(self, token: str = "", certificate: str = "", ca: str = "site.pem") -> Connection:
        files = [f"{certificate}.pem", f"{certificate}.key"] if certificate else []
        places = [str(self.directory / one) for one in files]
        text = token and (self.directory / "tokens-of-nodes" / token).read_text().strip()
        return Connection(self.address, text, 0, str(self.directory / ca), *places)

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0
        self._said.join()
        assert self.process.stderr is not None
        self.process.stderr.close()


@pytest.fixture
def collector(tmp_path, debian_program) -> Iterator[Collector]:
    debian_program("openssl", "openssl")
    made = Collector(tmp_path)
    yield made
    if made.process.poll() is None:
        made.end()


def test_a_node_writes_as_itself_only_by_token_or_certificate(collector):
    by_token, by_certificate = collector.connect("n1"), collector.connect(certificate="n3")
    relay = collector.connect("hub2")
    for node, connection in (("n1", by_token), ("n3", by_certificate), ("n2", relay)):
        assert json.loads(connection.ask("POST", "/v1/readings", reading_of(node)))["new"]
    for other, connection in (("n2", by_token), ("n1", by_certificate)):
        with pytest.raises(SesameError, match=f"may not deliver readings of {other}"):
            connection.ask("POST", "/v1/readings", reading_of(other))
    with pytest.raises(SesameError, match="role of this token does not permit"):
        collector.connect("prometheus").ask("POST", "/v1/readings", reading_of("n1"))
    for connection in (by_token, by_certificate, relay):
        connection.close()
    collector.end()
    [data_set] = map(DataSet, (collector.directory / "received").glob("*.sesame"))
    nodes = [row["node"] for row in data_set.table("kernel_reading").to_pylist()]
    assert sorted(nodes) == ["n1", "n2", "n3"]
    log = (collector.directory / "collector-audit.log").read_text().splitlines()
    refused = [(entry["client"], entry["status"]) for entry in map(json.loads, log)]
    assert refused == [("n1", 403), ("n3", 403), ("prometheus", 403)]


def test_who_is_unknown_is_refused_and_a_revoked_token_at_once(collector):
    connection = collector.connect("n1")
    assert connection.ask_clock() > 0
    collector.token("revoke", "n1")
    with pytest.raises(InputError, match="it does not accept this token"):
        connection.ask_clock()
    with pytest.raises(InputError, match="it does not accept this token"):
        collector.connect().ask_clock()
    with pytest.raises(SesameError, match=r"it does not speak HTTPS|closed|reset|alert"):
        collector.connect(certificate="false-n3").ask_clock()
    with pytest.raises(SesameError, match="its certificate is not trusted"):
        collector.connect("hub2", ca="other-site.pem").ask_clock()
