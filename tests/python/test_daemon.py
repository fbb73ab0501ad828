"""The daemon with probes that tests count in: levels, readings, HTTP, delivery, settings."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.python.fake_probes import all_probes

from sesame.errors import InputError, OutputError, SesameError
from sesame.measurement import clocks
from sesame.measurement.clocks import Offset, estimate
from sesame.measurement.connection import TooLargeError
from sesame.measurement.daemon import node as node_module
from sesame.measurement.daemon.api import make_daemon_app
from sesame.measurement.daemon.delivery import Delivery, Items
from sesame.measurement.daemon.node import Node
from sesame.measurement.daemon.process import lock, notify_systemd
from sesame.measurement.daemon.service import Service
from sesame.measurement.daemon.settings import Settings, read_settings
from sesame.measurement.frames import Frame
from sesame.measurement.probes import Detail
from sesame.measurement.processors import STATES, rows_of
from sesame.measurement.readings import Phase, Reading
from sesame.web.server.access import FixedTokens
from sesame.web.server.audit import AuditLog
from sesame.web.server.roles import Client, Role
from sesame.web.server.tokens import make_token, read_token

TOKEN = "t" * 32
ALLOWED = {"Authorization": f"Bearer {TOKEN}"}
ROLES = {
    TOKEN: Role.ADMINISTRATOR,
    "an-operator's-token": Role.OPERATOR,
    "a-program's-token": Role.PHASES,
    "a-reader's-token": Role.READER,
    "a-node's-token": Role.NODE,
}
TOKENS = [FixedTokens({token: Client(role, role) for token, role in ROLES.items()})]


class Daemon:
    """One with fake probes, asked as over HTTP but without a socket."""

    def __init__(self, settings: Settings | None = None, **missing: str) -> None:
        self.probes = all_probes(**missing)
        self.said: list[str] = []
        self.node = Node("n1", self.probes, {"block": "no tracepoint block_rq_issue"})
        self.service = Service(self.node, settings or Settings(), self.said.append)
        self.client = TestClient(make_daemon_app(self.service, TOKENS), headers=ALLOWED)

    def levels(self) -> dict[str, str]:
        subsystems = self.client.get("/v1/state").json()["subsystems"]
        return {
            f"{name}.{point}": one["level"]
            for name, subsystem in subsystems.items()
            for point, one in subsystem["points"].items()
        }

    def put(self, path: str, **body: object) -> tuple[int, dict]:
        answer = self.client.put(f"/v1{path}", json=body)
        return answer.status_code, answer.json()


@pytest.fixture
def daemon() -> Daemon:
    return Daemon()


def test_levels_are_set_for_everything_a_subsystem_and_a_point(daemon):
    assert daemon.put("/level", level="summary") == (200, {"refused": {}})
    assert set(daemon.levels().values()) == {"summary"}
    daemon.put("/subsystems/fs/level", level="trace")
    assert daemon.levels() == {"fs.read": "trace", "fs.open": "trace", "task.exec": "summary"}
    daemon.put("/subsystems/fs/points/open/level", level="off")
    assert daemon.levels() == {"fs.read": "trace", "fs.open": "off", "task.exec": "summary"}


def test_a_point_that_the_kernel_refuses_is_named_and_the_rest_is_set():
    daemon = Daemon(read="hardened")
    status, answer = daemon.put("/level", level="summary")
    assert status == 200
    assert answer["refused"] == {"fs.read": "read is unavailable: hardened"}
    assert daemon.levels()["fs.open"] == "summary"
    status, answer = daemon.put("/subsystems/fs/points/read/level", level="summary")
    assert (status, answer["error"]) == (400, "read is unavailable: hardened")


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/subsystems/nfs/level", {"level": "off"}, "there is no subsystem nfs"),
        ("/subsystems/fs/points/seek/level", {"level": "off"}, "fs has no point seek"),
        ("/subsystems/block/level", {"level": "off"}, "block is unavailable: no tracepoint"),
        (
            "/level",
            {"level": "loud"},
            "level: must be one of ['off', 'summary', 'trace'], got 'loud'",
        ),
        ("/settings", {"interval": 0}, "interval: expected 0.05 to 86400 seconds, got 0"),
        ("/settings", {"destination": "http://x"}, "http://x is not in [destinations]"),
        ("/settings", {"destination": "/etc/x"}, "/etc/x is not in [destinations]"),
        ("/subsystems/fs/size-groups", {"limits": [9, 3]}, "expected growing sizes"),
        ("/subsystems/fs/size-groups", {"limits": [2**64]}, "in bytes below 2^64"),
        ("/subsystems/task/size-groups", {"limits": [9]}, "at most 0 of them"),
    ],
)
def test_what_is_wrong_is_reported(daemon, path, body, words):
    status, answer = daemon.put(path, **body)
    assert status == 400
    assert words in answer["error"]


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer x"}, {"Authorization": TOKEN}])
@pytest.mark.parametrize("path", ["/v1/state", "/v1/readings", "/metrics", "/v1/clock"])
def test_nothing_is_given_without_the_token(daemon, header, path):
    client = TestClient(daemon.client.app, headers=header)
    assert client.get(path).status_code == 401


@pytest.mark.parametrize(
    ("role", "permitted"),
    [
        (Role.READER, {"clock", "state", "metrics", "total"}),
        (Role.PHASES, {"clock", "total", "phase"}),
        (Role.NODE, {"clock"}),
        (
            Role.OPERATOR,
            {"clock", "state", "metrics", "total", "phase", "level", "read", "interval"},
        ),
    ],
)
def test_each_role_permits_its_requests_and_no_others(daemon, role, permitted):
    requests = {
        "clock": ("GET", "/v1/clock", None),
        "state": ("GET", "/v1/state", None),
        "metrics": ("GET", "/metrics", None),
        "total": ("GET", "/v1/subsystems/fs/points/read/total", None),
        "phase": ("POST", "/v1/phases", {"name": "a", "begin_ns": 1, "end_ns": 2, "pid": 3}),
        "level": ("PUT", "/v1/level", {"level": "off"}),
        "read": ("POST", "/v1/read", None),
        "interval": ("PUT", "/v1/settings", {"interval": 5}),
        "destination": ("PUT", "/v1/settings", {"destination": ""}),
    }
    [token] = [token for token, other in ROLES.items() if other == role]
    daemon.client.headers["Authorization"] = f"Bearer {token}"
    statuses = {
        name: daemon.client.request(method, path, json=body).status_code
        for name, (method, path, body) in requests.items()
    }
    assert {name for name, status in statuses.items() if status < 300} == permitted
    assert {status for name, status in statuses.items() if name not in permitted} == {403}


def test_a_request_chooses_a_destination_of_the_settings_file_only(tmp_path):
    """Not a file that root may read, nor a host or directory that it names itself."""
    file = tmp_path / "sesamed.toml"
    first, second = tmp_path / "first", tmp_path / "second"
    file.write_text(f'destination = "{first}"\ndestinations.two = {{address = "{second}"}}\n')
    daemon = Daemon(read_settings(file))
    secret = {"destination": "http://127.0.0.1:9", "destination_token_file": "/etc/shadow"}
    status, answer = daemon.put("/settings", **secret)
    assert (status, "must not contain" in answer["error"]) == (400, True)
    for wrong in (
        {"destination": "http://127.0.0.1:9"},
        {"destination": str(tmp_path / "third")},
        {"destination": "three"},
    ):
        status, answer = daemon.put("/settings", **wrong)
        assert (status, "is not in [destinations]" in answer["error"]) == (400, True)
    assert not (tmp_path / "third").exists()
    for name, used in (("two", str(second)), ("", ""), (str(first), str(first))):
        status, state = daemon.put("/settings", destination=name)
        assert (status, state["destination"], state["destinations"]) == (200, used, ["two"])
    daemon.service.end()


def test_a_reading_has_what_was_counted_since_the_reading_before(daemon):
    daemon.put("/level", level="summary")
    fs = daemon.probes["fs"]
    fs.count(point=0, class_=1, group=3, size=5000, duration=70, cpu=0)
    fs.count(point=0, class_=1, group=3, size=6000, duration=90, cpu=1)
    first = daemon.client.post("/v1/read").json()
    assert [row | {"detail": 0, "active_ns": 0} for row in first["summaries"]] == [
        {
            "subsystem": "fs",
            "point": "read",
            "class": "tmpfs",
            "at_least_bytes": 16384,
            "below_bytes": 65536,
            "count": 2,
            "bytes": 11000,
            "timed": 2,
            "duration_ns": 160,
            "max_duration_ns": 90,
            "detail": 0,
            "active_ns": 0,
        }
    ]
    fs.count(point=0, class_=1, group=3, size=1, duration=5)
    second = daemon.client.post("/v1/read").json()
    [row] = second["summaries"]
    assert (row["count"], row["max_duration_ns"]) == (1, 5)
    assert second["begin_ns"] == first["end_ns"]
    assert daemon.client.get("/v1/subsystems/fs/points/read/total").json()["count"] == 3


def test_names_that_classes_get_while_it_runs_go_with_each_reading(daemon):
    daemon.put("/level", level="summary")
    fs = daemon.probes["fs"]
    for names in (("ext4 /", "tmpfs /a"), ("ext4 /", "nfs /home/b")):
        fs.count(point=0, class_=1, group=3, size=5000, duration=70)
        fs.classes = names
        [row] = Reading.from_json(daemon.service.read().encode()).summaries(0)
        assert row["class"] == names[1]


def test_classes_of_one_name_are_one_series_for_prometheus(daemon):
    daemon.put("/level", level="summary")
    fs = daemon.probes["fs"]
    fs.classes = ("tmpfs /a", "tmpfs /a")
    for class_ in (0, 1):
        fs.count(point=0, class_=class_, group=3, size=5000, duration=70)
    lines = daemon.client.get("/metrics").text.splitlines()
    events = [line for line in lines if line.startswith("sesame_events_total")]
    assert events == ['sesame_events_total{class="tmpfs /a",point="read",subsystem="fs"} 2.0']


def test_a_reading_that_is_asked_for_brings_no_new_budget(daemon):
    daemon.put("/level", level="summary")
    fs = daemon.probes["fs"]
    allowed = fs.accounts["quota_ns"].copy()
    fs.accounts["charged_ns"] += np.uint64(1000)
    daemon.client.post("/v1/read")
    daemon.put("/subsystems/fs/size-groups", limits=[64])
    assert (fs.accounts["quota_ns"] == allowed).all()


def test_what_has_spent_its_part_stays_off_when_it_is_switched_on_again(daemon):
    daemon.put("/level", level="summary")
    fs = daemon.probes["fs"]
    assert fs.detail(0) != Detail.OFF
    fs.cells["count"][0, 0, 0, 0] += np.uint64(10**9)
    fs.accounts["charged_ns"] += np.uint64(10**9)
    daemon.node.governor.on_quota_reached("fs")
    assert fs.detail(0) == Detail.OFF
    daemon.put("/subsystems/fs/level", level="summary")
    assert fs.detail(0) == Detail.OFF
    assert daemon.levels()["fs.read"] == "summary"


def test_what_cannot_be_attached_when_its_part_is_spent_is_off(daemon, monkeypatch):
    def refused(*_: object) -> None:
        raise SesameError("no space")

    daemon.put("/level", level="summary")
    fs, governor = daemon.probes["fs"], daemon.node.governor
    for way in ("_choose_detail", "_attach_at"):
        monkeypatch.setattr(governor, way, refused)
    fs.accounts["charged_ns"] += np.uint64(10**9)
    governor.on_quota_reached("fs")
    assert fs.detail(0) == Detail.OFF


def online_processors() -> list[int]:
    """Of the machine, whichever of them this process may use."""
    text = Path("/sys/devices/system/cpu/online").read_text()
    ranges = [[int(number) for number in part.split("-")] for part in text.split(",")]
    return [number for one in ranges for number in range(one[0], one[-1] + 1)]


def test_processors_are_in_every_reading():
    before = time.monotonic_ns()
    daemon = Daemon()
    started = time.monotonic_ns()
    time.sleep(0.05)
    ending = time.monotonic_ns()
    reading = daemon.service.read()
    ended = time.monotonic_ns()
    rows = list(rows_of(reading.processors))
    assert [row["cpu"] for row in rows] == online_processors()
    spent = sum(sum(row[f"{state}_ns"] for state in STATES) for row in rows)
    ticks = 3e7  # of the kernel's clock, in which it counts
    assert ending - started - ticks <= spent / len(rows) <= ended - before + ticks


def test_size_groups_change_after_a_reading_of_what_was_counted_with_the_old_ones(daemon):
    fs = daemon.probes["fs"]
    fs.count(point=0, class_=0, group=0, size=100, duration=1)
    assert daemon.put("/subsystems/fs/size-groups", limits=[64, 128])[0] == 200
    fs.count(point=0, class_=0, group=1, size=100, duration=1)
    daemon.service.read()
    readings = daemon.client.get("/v1/readings").json()["readings"]
    bounds = [(r["at_least_bytes"], r["below_bytes"]) for p in readings for r in p["summaries"]]
    assert bounds == [(0, 512), (64, 128)]


def test_metrics_are_totals_by_point_and_class(daemon):
    daemon.probes["fs"].count(point=1, class_=0, group=0, size=0, duration=2_000_000_000)
    daemon.service.read()
    text = daemon.client.get("/metrics").text
    labels = '{class="ext",point="open",subsystem="fs"}'
    assert f"sesame_events_total{labels} 1.0" in text
    assert f"sesame_duration_seconds_total{labels} 2.0" in text


def test_openapi_describes_every_path(daemon):
    paths = daemon.client.get("/openapi.json").json()["paths"]
    assert {"/v1/level", "/v1/subsystems/{subsystem}/points/{point}/level", "/metrics"} <= set(
        paths
    )


def test_a_phase_goes_with_the_next_reading(daemon):
    phase = {"name": "sort", "begin_ns": 10, "end_ns": 30, "pid": 7}
    assert daemon.client.post("/v1/phases", json=phase).status_code == 201
    assert daemon.client.post("/v1/phases", json=phase | {"end_ns": 9}).status_code == 400
    assert daemon.service.read().phases == [Phase("sort", 10, 30, 7)]
    assert daemon.service.read().phases == []


@pytest.mark.parametrize("name", ["a\x1b[31m", "a\nb", "\x00"])
def test_a_phase_that_a_collector_would_refuse_is_refused(daemon, name):
    """It had refused the whole reading: any program could hide what the node did."""
    phase = {"name": name, "begin_ns": 10, "end_ns": 30, "pid": 7}
    answer = daemon.client.post("/v1/phases", json=phase)
    assert answer.status_code == 400
    assert "without control characters" in answer.json()["error"]
    line = daemon.service.read().encode()
    assert Frame.decoded(line, b"").refusal == ""


def test_many_phases_shorten_what_is_kept_in_memory(daemon, monkeypatch):
    """10,000 phases in each of 360 readings had taken 1.6 GB."""
    monkeypatch.setattr(node_module, "MOST_PHASES_KEPT", 25)
    for number in range(50):
        daemon.node.add_phase(Phase("sort", number, number + 1, 7))
        if number % 10 == 9:
            daemon.service.read()
    assert [len(one.phases) for one in daemon.node.history] == [10, 10]


def test_readings_and_phases_displace_no_change_in_the_audit_log(daemon, tmp_path):
    log = AuditLog(tmp_path / "audit.log")
    client = TestClient(make_daemon_app(daemon.service, TOKENS, log), headers=ALLOWED)
    phase = {"name": "sort", "begin_ns": 10, "end_ns": 30, "pid": 7}
    assert client.post("/v1/phases", json=phase).status_code == 201
    assert client.post("/v1/read").status_code == 200
    assert client.put("/v1/settings", json={"interval": 3}).status_code == 200
    log.close()
    (entry,) = (tmp_path / "audit.log").read_text().splitlines()
    assert json.loads(entry)["path"] == "/v1/settings"


def test_a_reading_survives_its_way_as_json(daemon):
    daemon.probes["fs"].count(point=1, class_=0, group=0, size=0, duration=5)
    daemon.node.add_phase(Phase("a", 1, 2, 3))
    reading = daemon.service.read()
    assert Reading.from_json(reading.encode()) == reading


# ---- Delivery ----


class FlakySink:
    def __init__(self) -> None:
        self.works = threading.Event()
        self.delivered: list[int] = []
        self.attempts = 0

    def deliver(self, items: Items) -> None:
        self.attempts += 1
        if not self.works.is_set():
            raise SesameError("away")
        self.delivered += [one.number for one in items]

    def close(self) -> None: ...


def wait_until(condition) -> None:
    end = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_readings_wait_for_a_collector_that_is_away_and_the_oldest_are_dropped(daemon):
    sink, said = FlakySink(), []
    delivery = Delivery(sink, said.append, daemon.node.stream, capacity=3)
    for number in range(1, 6):
        delivery.offer(daemon.node.new_readings())
        wait_until(lambda n=number: sink.attempts == n)
    way = delivery.describe()
    assert (way["waiting"], way["delivered"], way["dropped"]) == (3, 0, 2)
    assert way["trouble"] == "away"
    sink.works.set()
    delivery.offer(daemon.node.new_readings())
    wait_until(lambda: len(sink.delivered) == 3)
    assert delivery.close() == []
    assert sink.delivered == [3, 4, 5]
    assert sink.attempts == 6
    assert delivery.dropped == 3
    assert said == ["readings wait: away", "delivery works again; 3 readings were dropped"]


def test_readings_that_are_too_large_together_or_alone_do_not_keep_back_others(daemon):
    class SmallSink(FlakySink):
        def deliver(self, items: Items) -> None:
            if len(items) > 3 or any(one.sequence == 5 for one in items):
                raise TooLargeError("hub: the request is too large")
            super().deliver(items)

    sink, said = SmallSink(), []
    sink.works.set()
    delivery = Delivery(sink, said.append, daemon.node.stream)
    delivery.offer([daemon.node.read() for _ in range(20)])
    assert delivery.close() == []
    assert sorted(sink.delivered) == [number for number in range(20) if number != 5]
    assert (delivery.delivered, delivery.dropped) == (19, 1)
    assert said == ["a reading is dropped: hub: the request is too large"]


def test_a_defect_in_the_delivery_is_reported_and_does_not_end_it(daemon):
    class BrokenSink(FlakySink):
        def deliver(self, items: Items) -> None:
            if not self.works.is_set():
                raise TypeError("str is not valid UTF-8")
            super().deliver(items)

    sink, said = BrokenSink(), []
    delivery = Delivery(sink, said.append, daemon.node.stream)
    delivery.offer(daemon.node.new_readings())
    wait_until(lambda: delivery.trouble)
    assert "TypeError('str is not valid UTF-8')" in said[0]
    sink.works.set()
    delivery.offer(daemon.node.new_readings())
    wait_until(lambda: sink.delivered == [0, 1])
    assert delivery.close() == []


def test_what_was_dropped_is_given_with_the_next_reading(daemon):
    assert daemon.node.read(dropped=4).dropped == 4


# ---- Settings, tokens, clocks ----


def test_settings_are_read_again_and_wrong_ones_change_nothing(tmp_path):
    file = tmp_path / "sesamed.toml"
    file.write_text('interval = 5\n[levels]\nall = "summary"\n"fs.read" = "off"\n')
    daemon = Daemon(read_settings(file))
    daemon.service._read = lambda: read_settings(file)
    assert daemon.levels() == {"fs.read": "off", "fs.open": "summary", "task.exec": "summary"}
    file.write_text('interval = 2\n[levels]\nnfs = "summary"\n')
    daemon.service.reload()
    assert "there is no subsystem nfs" in daemon.said[-1]
    assert daemon.service.settings.interval == 5
    file.write_text('interval = 2\n[levels]\nall = "off"\n')
    daemon.service.reload()
    assert daemon.service.settings.interval == 2
    assert set(daemon.levels().values()) == {"off"}


def test_settings_with_a_wrong_destination_or_wrong_size_groups_change_nothing(tmp_path):
    file = tmp_path / "sesamed.toml"
    daemon = Daemon(Settings(levels={"all": "off"}))
    daemon.service._read = lambda: read_settings(file)
    for wrong in ('destination = "http://x"\n', "size_groups.fs = [9, 3]\n"):
        file.write_text(f'interval = 2\n{wrong}[levels]\nall = "summary"\n')
        daemon.service.reload()
        assert "settings stay as they were" in daemon.said[-1]
        assert set(daemon.levels().values()) == {"off"}
        assert daemon.service.settings.interval == 10


def test_the_next_reading_is_an_interval_after_the_last_one_however_often_settings_change(daemon):
    async def serve() -> float:
        began = time.monotonic()
        daemon.service.begin()
        for _ in range(100):  # if each added an interval, they would take 20 s
            daemon.service.change(interval=0.2)
        while not daemon.node.history and time.monotonic() < began + first:
            await asyncio.sleep(0.01)
        return time.monotonic() - began

    first = daemon.service.settings.interval
    assert 0.2 <= asyncio.run(serve()) < first


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("interval = ", "not valid TOML"),
        ("speed = 3", "unknown setting speed"),
        ("interval = true", "interval: True has the wrong type"),
        ("interval = -1", "interval: expected"),
        ("destinations.a = 3", "destinations.a: expected a table of texts"),
        ("destinations.a.address = ''", "destinations.a: expected an address"),
        ("destinations.a.url = 'http://x'", "destinations.a: unknown key url"),
        ("destinations.a.address = 'ftp://x'", "expected http://HOST:PORT"),
        ("size_groups.fs = ['a']", "size_groups.fs: expected a list of sizes"),
        ("levels.fs = 'loud'", "levels.fs: expected off, summary or trace"),
    ],
)
def test_wrong_settings_are_named_with_their_file(tmp_path, text, words):
    file = tmp_path / "sesamed.toml"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        read_settings(file)
    assert str(error.value).startswith(f"{file}: ")
    assert words in str(error.value)


def test_the_lock_is_no_way_to_files_of_others(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.write_text("precious")
    (tmp_path / "daemon.lock").symlink_to(theirs)
    with pytest.raises(OutputError, match=r"daemon\.lock"):
        lock(tmp_path)
    assert theirs.read_text() == "precious"


@pytest.mark.parametrize("name", ["at@home", "plain"])
def test_systemd_is_given_where_it_listens(tmp_path, monkeypatch, name):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as opened:
        opened.bind(str(tmp_path / name))
        opened.settimeout(2)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / name))
        notify_systemd("READY=1")
        assert opened.recv(100) == b"READY=1"


def test_a_token_is_made_once_and_only_its_owner_can_read_it(tmp_path):
    path = tmp_path / "token"
    token = make_token(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(token) >= 32
    assert make_token(path) == token
    path.chmod(0o640)
    with pytest.raises(InputError, match="others may read this token"):
        read_token(path)


def test_an_offset_is_right_within_its_uncertainty_however_slow_the_way(monkeypatch):
    ahead, now, delays = 3_000_000_000, 0, iter([30_000_000, 1_000_001, 20_000_000, 4_000_000])

    def ask() -> int:
        nonlocal now
        now += next(delays)  # all of it on the way there
        return now + ahead

    monkeypatch.setattr(clocks, "time", SimpleNamespace(monotonic_ns=lambda: now))
    offset = estimate(ask, round_trips=4)
    assert abs(offset.offset_ns - ahead) <= offset.uncertainty_ns
    assert offset.uncertainty_ns == 500_001
    assert isinstance(offset, Offset)
