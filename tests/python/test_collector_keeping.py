"""What a collector keeps: data sets by age and size, space for them, short lines in its log."""

from __future__ import annotations

import errno
import os
import re
import time
from pathlib import Path

import pytest
from test_collector import FakeNode, data_sets, rows
from test_daemon_events import Kernel

from sesame.datasets import DataSetWriter, HostMachine, Info, Instrument, Kind
from sesame.errors import InputError
from sesame.measurement.collector import received as received_module
from sesame.measurement.collector import space as space_module
from sesame.measurement.collector.ages import AGES, Ages, Now
from sesame.measurement.collector.intake import Intake
from sesame.measurement.collector.metrics import as_text
from sesame.measurement.collector.quota import Quota
from sesame.measurement.collector.received import Received
from sesame.measurement.collector.retention import Keeping, remove_old
from sesame.measurement.collector.settings import Settings, read_settings
from sesame.measurement.collector.store import Store
from sesame.measurement.probes import EVENT

DAY = 86_400


def write_set(path: Path, **more: object) -> Path:
    with DataSetWriter(path) as writer:
        writer.finish(
            Info(
                kind=Kind.MEASURED,
                title="kernel measurement",
                instrument=Instrument.ours("sesame collect"),
                host=HostMachine.of_nodes(["a"]),
                begin_time="2026-01-01T00:00:00+00:00",
                more=more,
            )
        )
    return path


def make_sets(directory: Path, ages_days: list[float]) -> list[Path]:
    """Data sets of these ages, the directory of which another one is no data set of a collector."""
    made = []
    for number, age in enumerate(ages_days):
        path = write_set(
            directory / f"measured-20260101T00000{number}.sesame", journal=".journal-1"
        )
        (path / "more").write_bytes(bytes(100_000))
        moment = time.time() - age * DAY
        for one in (*path.iterdir(), path):
            os.utime(one, (moment, moment))
        made.append(path)
    (directory / "mine.sesame").mkdir()
    os.utime(directory / "mine.sesame", (0, 0))
    return made


def test_data_sets_above_the_age_are_removed_and_those_of_others_are_not(tmp_path):
    made = make_sets(tmp_path, [40, 31, 29, 1])
    said: list[str] = []
    remove_old(tmp_path, Keeping(seconds=30 * DAY), Ages(tmp_path), said.append)
    assert [path.exists() for path in made] == [False, False, True, True]
    assert (tmp_path / "mine.sesame").exists()
    assert len(said) == 2


def test_the_oldest_data_sets_above_the_size_are_removed(tmp_path):
    made = make_sets(tmp_path, [4, 3, 2, 1])
    before = remove_old(tmp_path, Keeping(), Ages(tmp_path), print)
    kept = remove_old(tmp_path, Keeping(bytes=before // 2), Ages(tmp_path), print)
    assert [path.exists() for path in made] == [False, False, True, True]
    assert kept <= before // 2
    assert remove_old(tmp_path, Keeping(bytes=0), Ages(tmp_path), print) == 0
    assert list(tmp_path.glob("*.sesame")) == [tmp_path / "mine.sesame"]


class Clock:
    """A machine's clocks, of which the time of day may be set."""

    def __init__(self) -> None:
        self.boot, self.since_boot_s, self.time_s = "first", 100.0, time.time()

    def __call__(self) -> Now:
        return Now(self.boot, self.since_boot_s, self.time_s)

    def pass_days(self, days: float) -> None:
        self.since_boot_s += days * DAY
        self.time_s += days * DAY


@pytest.mark.parametrize("jump_days", [4000, -1, -4000])
@pytest.mark.parametrize("restarts", [False, True])
def test_a_jump_of_the_time_of_day_removes_nothing_and_keeps_nothing_longer(
    tmp_path, jump_days, restarts
):
    """With the clock ahead, all data sets had been removed at once; with it back, none."""
    clock, keeping = Clock(), Keeping(seconds=30 * DAY)
    ages = Ages(tmp_path, clock)

    def kept() -> list[bool]:
        current = Ages(tmp_path, clock) if restarts else ages
        remove_old(tmp_path, keeping, current, lambda _: None)
        return [path.exists() for path in made]

    made = make_sets(tmp_path, [20, 1])
    assert kept() == [True, True]
    clock.time_s += jump_days * DAY
    assert kept() == [True, True]
    clock.pass_days(11)
    assert kept() == [False, True]
    clock.pass_days(19)
    assert kept() == [False, False]


def test_what_passes_while_the_machine_is_off_counts(tmp_path):
    clock, keeping = Clock(), Keeping(seconds=30 * DAY)
    [one] = make_sets(tmp_path, [20])
    remove_old(tmp_path, keeping, Ages(tmp_path, clock), print)
    clock.boot, clock.since_boot_s = "second", 10.0
    clock.time_s += 11 * DAY
    remove_old(tmp_path, keeping, Ages(tmp_path, clock), print)
    assert not one.exists()


@pytest.mark.parametrize("text", ["", "[]", '{"now": {}}', '{"now": 1, "ages": {}}'])
def test_damaged_ages_are_read_from_the_files_again(tmp_path, text):
    made = make_sets(tmp_path, [31, 1])
    (tmp_path / AGES).write_text(text)
    remove_old(tmp_path, Keeping(seconds=30 * DAY), Ages(tmp_path), print)
    assert [path.exists() for path in made] == [False, True]


def test_a_relay_does_not_drop_what_waits_when_the_clock_jumps(tmp_path, monkeypatch):
    keeping = Keeping(seconds=DAY)
    store = Store(tmp_path, 600, keeping=keeping, is_relay=True)
    store.add(FakeNode("a").read())
    store.end_segment()
    assert store.drop_old_journals() == 0
    later = time.time() + 400 * DAY
    monkeypatch.setattr(time, "time", lambda: later)
    assert store.drop_old_journals() == 0
    assert len(store.ended_journals()) == 1
    store.close()


def test_what_the_collector_did_not_make_is_kept_whatever_its_name(tmp_path):
    write_set(tmp_path / "measured-baseline.sesame", journal=".journal-1")  # renamed by a user
    write_set(tmp_path / "measured-20250101T000000.sesame")
    (tmp_path / "measured-20260102T000000.sesame").mkdir()
    (tmp_path / "damaged-disks.txt").write_text("x")
    hidden = tmp_path / ".measured-notes"
    hidden.mkdir()
    before = set(tmp_path.iterdir())
    for path in before:
        os.utime(path, (0, 0))
    [made] = make_sets(tmp_path, [1])
    store = Store(tmp_path, 600, keeping=Keeping(seconds=3600))
    assert not made.exists()
    assert before <= set(tmp_path.iterdir())
    store.close()


def test_a_link_with_the_name_of_a_data_set_is_kept(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "file").write_text("x")
    (tmp_path / "measured-20260101T000000.sesame").symlink_to(other)
    remove_old(tmp_path, Keeping(bytes=0), Ages(tmp_path), print)
    assert (other / "file").exists()
    assert (tmp_path / "measured-20260101T000000.sesame").is_symlink()


def test_a_segment_of_many_nodes_is_one_short_line(tmp_path):
    said: list[str] = []
    store = Store(tmp_path, 600, said.append)
    one = FakeNode("n").read()
    for number in range(200):
        store.add(type(one)(**vars(one) | {"node": f"node{number:03}"}))
    store.close()
    [line] = said
    assert line.endswith(": 200 nodes: node000, node001, node002 and 197 more")


def test_the_list_of_received_items_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(received_module, "MOST_KEYS", 10)
    received = Received(tmp_path / "r", print)
    for number in range(25):
        received.add(f"n {number}", 3)
    received.save(received.encode())
    again = Received(tmp_path / "r", print)
    assert [again.last(f"n {number}") for number in (14, 15, 24)] == [-1, 3, 3]
    later = time.time() + received_module.OLD_SECONDS + 1
    monkeypatch.setattr(received_module.time, "time", lambda: later)
    again.add("n new", 1)
    again.save(again.encode())
    assert Received(tmp_path / "r", print).last("n 24") == -1


def test_numbers_that_an_earlier_version_stored_are_read(tmp_path):
    (tmp_path / "r").write_text('{"n s": 7}')
    assert Received(tmp_path / "r", print).last("n s") == 7


class Disk:
    """A file system with this much free space, as os.statvfs describes it."""

    f_frsize, f_blocks = 1, 100_000

    def __init__(self, free: int) -> None:
        self.f_bavail = free


def test_a_disk_that_is_nearly_full_keeps_space_for_the_data_set_of_the_journal(
    tmp_path, monkeypatch
):
    """And it accepts items again only when there is clearly more space."""
    disk = Disk(90_000)
    said: list[str] = []
    store = Store(tmp_path, 600, said.append)
    monkeypatch.setattr(space_module.os, "statvfs", lambda _: disk)
    node = FakeNode("a")
    first = node.read()
    size = len(first.encode())
    assert store.add(first)
    needed = 5_000 + size + 2 * size  # for others, for the data set, for the item itself
    disk.f_bavail = int(0.9 * needed)
    for _ in range(3):
        with pytest.raises(OSError) as full:
            store.add(node.read())
        assert full.value.errno == errno.ENOSPC
    disk.f_bavail = int(1.1 * needed)
    with pytest.raises(OSError):
        store.add(node.read())
    assert [line.partition(": ")[2] for line in said] == [
        "cannot write: No space left on device; daemons wait"
    ]
    disk.f_bavail = int(1.4 * needed)
    assert store.add(node.read())
    assert len(said) == 2 and said[1].startswith("resolved: ")
    disk.f_bavail = 0  # the data set of the journal is written all the same
    store.close()
    [data_set] = data_sets(tmp_path)
    assert len(rows(data_set, "kernel_reading")) == 2


def test_a_noisy_node_gets_its_share_and_others_are_not_affected(tmp_path):
    """All that it sends is accounted for, and its readings still come."""
    said: list[str] = []
    kernel, noisy, quiet = Kernel(buffer=200, capacity=10**6), FakeNode("n"), FakeNode("quiet")
    node_bytes = 100_000 + 20 * len(quiet.read().encode())
    store = Store(tmp_path, 600, said.append, node_bytes=node_bytes)
    for _ in range(20):
        kernel.see(200)  # 14 kB
        [block] = kernel.stream.after(kernel.stream.seen - 1)
        store.add(block)
        assert store.add(quiet.read())
    assert store.add(noisy.read())
    store.quota.renew(0)
    kernel.see(200)
    assert store.add(kernel.stream.after(kernel.stream.seen - 1)[0])
    store.close()
    [data_set] = data_sets(tmp_path)
    trace = rows(data_set, "kernel_trace")
    written, discarded = (sum(row[key] for row in trace) for key in ("written", "discarded"))
    assert written == data_set.table("kernel_event").num_rows
    assert 200 < written < 0.9 * node_bytes / EVENT.itemsize + 200
    assert written + discarded == 21 * 200
    readings = [row["node"] for row in rows(data_set, "kernel_reading")]
    assert (readings.count("quiet"), readings.count("n")) == (20, 1)
    assert [line for line in said if line.startswith("n: more than")] == said[:1]
    assert store.quota.refused > 0


def test_readings_above_the_quota_are_refused_until_the_next_period():
    now = [0.0]
    one, other = FakeNode("a").read(), FakeNode("b").read()
    quota = Quota(200, lambda _: None, lambda: now[0])
    assert [quota.takes(one, 100) for _ in range(3)] == [True, True, False]
    assert quota.takes(other, 100)
    quota.give_back(one, 100)
    assert quota.takes(one, 100)
    now[0] = 599
    quota.renew(600)
    assert not quota.takes(one, 100)
    now[0] = 600
    quota.renew(600)
    assert quota.takes(one, 100)


def test_settings_are_read_and_wrong_ones_are_named(tmp_path):
    path = tmp_path / "collector.toml"
    path.write_text('output = "out"\nkeep = "30d"\nkeep_size = "50GB"\nnodes = ["a", "b:1"]\n')
    settings = Settings(**read_settings(path))
    settings.check()
    assert settings.keeping == Keeping(30 * DAY, 50 * 10**9)
    for text, reason in (
        ("kep = 1", "unknown setting kep"),
        ("keep = 30", "keep: 30 has the wrong type"),
        ("segment = true", "segment: True has the wrong type"),
        ("nodes = [1]", "nodes: [1] has the wrong type"),
        ("keep = ", "not valid TOML"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=re.escape(reason)):
            read_settings(path)
    for changes, reason in (
        ({"output": ""}, "expected a directory"),
        ({"keep": "30"}, "keep: 30: expected a time with a unit"),
        ({"keep": "0d"}, "keep: 0d: expected a time"),
        ({"keep_size": "much"}, "keep_size: much: "),
        ({"node_size": "much"}, "node_size: much: "),
        ({"segment": 0.0}, "segment: expected"),
        ({"segment": float("nan")}, "segment: expected"),
        ({"interval": -1.0}, "interval: expected"),
        ({"forward_to": "hub"}, "needs a token of that collector"),
    ):
        with pytest.raises(InputError, match=re.escape(reason)):
            Settings(**{"output": "out"} | changes).check()


def test_metrics_tell_of_each_node_when_it_was_last_heard_and_of_the_disk(tmp_path):
    store = Store(tmp_path, 600)
    intake = Intake(store, tmp_path, lambda _: None)
    intake.take(FakeNode("a").read().encode() + b'{"x":1}\n', "a", lambda _: None)
    lines = dict(
        line.rsplit(" ", 1)
        for line in as_text(store, intake, None).decode().splitlines()
        if not line.startswith("#")
    )
    assert float(lines["sesame_collector_readings_total"]) == 1
    assert float(lines["sesame_collector_refused_total"]) == 1
    heard = float(lines['sesame_collector_node_last_reading_seconds{node="a"}'])
    assert abs(heard - time.time()) < 100
    assert float(lines["sesame_collector_journal_bytes"]) > 100
    assert float(lines["sesame_collector_free_bytes"]) > 0
    assert float(lines["sesame_collector_is_full"]) == 0
    store.close()
