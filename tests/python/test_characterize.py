"""Characterisations against closed forms: traces whose locality is known beforehand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.python.traced_run import TracedRun
from tests.some_info import some_info

from sesame.analysis.characterize import (
    Comparison,
    Limits,
    NamedProfile,
    Profile,
    characterize,
    locality,
    open_source,
    source,
)
from sesame.analysis.characterize.findings import find
from sesame.analysis.characterize.locality import Locality, fewest
from sesame.analysis.characterize.page import write_comparison
from sesame.analysis.characterize.profile import READS, WRITES
from sesame.datasets import DataSet, DataSetWriter, Field, RecordType
from sesame.errors import InputError

SECOND = 10**9


def name_column(values: list[str]) -> pa.Array:
    return pa.array(values, pa.string()).dictionary_encode()


def write_requests(path: Path, sector, *, duration_s=None, **more) -> Path:
    """Pages read from one device once each millisecond, unless stated otherwise."""
    count = len(sector)
    columns = {
        "time_ns": np.arange(count) * 10**6,
        "device": ["8,0"] * count,
        "sector": np.asarray(sector, np.int64),
        "bytes": np.full(count, 4096),
        "operation": ["read"] * count,
        "depth": np.ones(count, np.int64),
        "latency_ns": np.full(count, 1000),
        "pid": np.full(count, 1),
        "command": ["a"] * count,
    } | more
    for name in ("device", "operation", "command"):
        columns[name] = name_column(list(columns[name]))
    with DataSetWriter(path, force=True) as writer:
        writer.write_batches("block_request", [columns])
        result = {} if duration_s is None else {"result": {"duration_s": duration_s}}
        writer.finish(some_info("imported", **result))
    return path


def profile_of(path: Path, **limits) -> Profile:
    return characterize(open_source(DataSet(path)), None, Limits(**limits))


def topics(profile: Profile) -> set[str]:
    return {finding.topic for finding in find(profile)}


def test_a_stream_is_sequential(tmp_path):
    profile = profile_of(write_requests(tmp_path / "s", np.arange(1000) * 8))
    assert profile.sequential.sum() == 999  # the first follows nothing
    assert profile.runs == 1
    assert profile.locality.repeated == 0
    assert profile.extent == 1000 * 4096
    assert profile.small_part == pytest.approx(0.9)
    assert profile.rate == pytest.approx(1000 / 0.999)
    assert "hot spot" not in topics(profile)


def test_every_second_request_elsewhere_is_sequential_to_none(tmp_path):
    sector = np.stack((np.arange(500) * 8, 10**6 + np.arange(500) * 8), axis=1).ravel()
    assert profile_of(write_requests(tmp_path / "s", sector)).sequential.sum() == 0


def test_ninety_percent_in_ten(tmp_path):
    """The 10-90 rule: of 1,000 places each of the first 100 is accessed 81 times, others once."""
    places = np.concatenate((np.repeat(np.arange(100), 81), np.arange(100, 1000)))
    sector = np.random.default_rng(3).permutation(places) * 8
    profile = profile_of(write_requests(tmp_path / "s", sector))
    assert profile.total == 9000
    assert profile.small_part == pytest.approx(0.1)
    assert profile.locality.fewest(0.9) == 100
    assert profile.locality.repeated == 9000 - 1000
    assert "spatial locality" in topics(profile)


def test_a_hot_spot_and_the_time_between_its_accesses(tmp_path):
    """Each fifth request, that is each 5 ms, goes to one sector."""
    sector = np.arange(1000) * 8 + 10_000
    sector[::5] = 4000
    profile = profile_of(write_requests(tmp_path / "s", sector, duration_s=1.0))
    assert profile.locality.hottest(1) == [(4000 * 512, 200)]
    assert profile.locality.mean_gap_s == pytest.approx(5e-3)
    hot = next(finding for finding in find(profile) if finding.topic == "hot spot")
    assert hot.evidence["each second"] == pytest.approx(200)
    assert "sector 4,000" in hot.sentence


def test_classes_of_sizes_and_bands(tmp_path):
    size = np.array([512, 1024, 4096, 4096, 4096, 8192, 65536, 131072, 1 << 20])
    sector = np.array([0, 99, 100, 199, 200, 201, 202, 399, 400])
    operation = ["read", "write"] * 4 + ["read"]
    path = write_requests(tmp_path / "s", sector, bytes=size, operation=operation)
    profile = profile_of(path, band_sectors=100)
    assert profile.classes.sum(axis=0).tolist() == [2, 3, 2, 2]
    assert profile.bytes.tolist() == [int(size[::2].sum()), int(size[1::2].sum())]
    assert profile.bands.sum(axis=0)[:5].tolist() == [2, 2, 3, 1, 1]
    assert profile.bands.shape == (2, -(-(400 + 2048) // 100))
    assert profile.sizes[4096] == 3


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("rows", [7, 1000, 1 << 20])
def test_batches_and_coarser_units_change_only_what_they_must(tmp_path, monkeypatch, rows):
    random = np.random.default_rng(5)
    sector = random.integers(0, 5000, 5000) * 8
    path = write_requests(tmp_path / "s", sector, bytes=random.choice([512, 4096, 131072], 5000))
    plain = profile_of(path)
    monkeypatch.setattr(source, "ROWS", rows)
    again = profile_of(path)
    for name in ("requests", "bytes", "classes", "sequential", "fine", "bands", "size_over_time"):
        assert (getattr(again, name) == getattr(plain, name)).all(), name
    assert again.sizes == plain.sizes
    assert (again.locality.counts == plain.locality.counts).all()
    assert (again.locality.gaps == plain.locality.gaps).all()
    assert plain.locality.counts.sum() == 5000
    assert len(plain.locality.counts) == len(np.unique(sector))
    monkeypatch.setattr(locality, "MOST_PLACES", 2000)
    coarse = profile_of(path)
    assert coarse.locality.unit > plain.locality.unit
    assert len(coarse.locality.counts) == len(np.unique(sector * 512 // coarse.locality.unit))
    assert (coarse.fine == plain.fine).all()


def test_locality_counts_as_a_dictionary_does():
    random = np.random.default_rng(9)
    counted = Locality(512)
    time = np.cumsum(random.integers(1, 1000, 3000))
    position = random.zipf(1.5, 3000) * 100
    for at in range(0, 3000, 700):
        counted.add(position[at : at + 700], time[at : at + 700])
    last: dict[int, int] = {}
    gaps, counts = [], {}
    for place, when in zip((position // 512).tolist(), time.tolist(), strict=True):
        if place in last:
            gaps.append(when - last[place])
        last[place] = when
        counts[place] = counts.get(place, 0) + 1
    assert dict(zip(counted.places.tolist(), counted.counts.tolist(), strict=True)) == counts
    assert counted.mean_gap_s == pytest.approx(np.mean(gaps) * 1e-9)
    assert counted.gaps.sum() == len(gaps)


def test_the_fewest_places_for_a_share():
    assert fewest(np.array([1] * 10), 0.9) == 9
    assert fewest(np.array([90, 5, 5]), 0.9) == 1
    assert fewest(np.array([89, 6, 5]), 0.9) == 2
    assert fewest(np.array([], np.int64), 0.9) == 0


def test_quantiles_of_latencies_are_within_a_class(tmp_path):
    latency = np.random.default_rng(2).lognormal(12, 1, 20_000).astype(np.int64)
    profile = profile_of(write_requests(tmp_path / "s", np.arange(20_000), latency_ns=latency))
    for part in (0.1, 0.5, 0.9, 0.99):
        assert profile.latency_s(part) == pytest.approx(np.quantile(latency, part) * 1e-9, rel=0.05)
    assert profile.mean_latency_s == pytest.approx(latency.mean() * 1e-9)


def test_only_the_asked_device_counts(tmp_path):
    device = ["8,0", "8,0", "8,16"] * 100
    path = write_requests(tmp_path / "s", np.arange(300) * 8, device=device)
    opened = open_source(DataSet(path))
    assert characterize(opened).total == 200
    assert characterize(opened, "8,16").total == 100
    with pytest.raises(InputError, match=r"no requests to 9,9, there are some to 8,0, 8,16"):
        characterize(opened, "9,9")


def part_of(path: Path, count: int, writes: int, seconds: float) -> NamedProfile:
    operation = ["write"] * writes + ["read"] * (count - writes)
    sector = np.arange(count)
    made = write_requests(path, sector, operation=operation, duration_s=seconds)
    return NamedProfile(path.name, profile_of(made))


def test_names_of_data_sets_are_no_markup(tmp_path):
    baseline = part_of(tmp_path / "baseline", 100, 100, 100.0)
    one = part_of(tmp_path / "a<img src=x>", 50, 50, 10.0)
    two = part_of(tmp_path / "b<img src=x>", 180, 20, 20.0)
    both = part_of(tmp_path / "c<img src=x>", 330, 100, 30.0)
    write_comparison(Comparison(baseline, [one, two], both), tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text()
    assert "a&lt;img src=x&gt; makes" in html
    assert "<img src=x>" not in html


def test_contributions_are_what_runs_add_to_the_system(tmp_path):
    """One request a second from the system; 40 and 160 more from two applications."""
    baseline = part_of(tmp_path / "baseline", 100, 100, 100.0)
    one = part_of(tmp_path / "one", 50, 50, 10.0)
    two = part_of(tmp_path / "two", 180, 20, 20.0)
    both = part_of(tmp_path / "both", 330, 100, 30.0)
    comparison = Comparison(baseline, [one, two], both)
    assert comparison.contribution(one) == pytest.approx(40)
    assert comparison.contribution(two) == pytest.approx(160)
    assert comparison.contribution(two, READS) == pytest.approx(160)
    assert comparison.contribution(two, WRITES) == 0
    assert comparison.shares() == pytest.approx({"one": 0.2, "two": 0.8})
    assert comparison.expected == pytest.approx(30 + 200)
    table = {row["run"]: row for row in comparison.rows()}
    assert table["both"]["requests_per_s"] == pytest.approx(11)
    assert table["two"]["reads"] == pytest.approx(160 / 180)


def test_events_of_the_kernel_are_the_same_requests(tmp_path):
    """Issue and completion, as a trace of the kernel has them."""
    sector = np.arange(300) * 8
    plain = profile_of(write_requests(tmp_path / "p", sector, latency_ns=np.full(300, 1_500_000)))
    issued = np.arange(300) * 10**6
    time = np.concatenate((issued, issued + 1_500_000))
    order = np.argsort(time, kind="stable")
    table = pa.table(
        {
            "time_ns": time[order],
            "subsystem": name_column(["block"] * 600),
            "point": name_column(np.repeat(["issue", "complete"], 300)[order].tolist()),
            "class": name_column(["read"] * 600),
            "where": np.tile(sector, 2)[order].astype(np.uint64),
            "bytes": np.full(600, 4096, np.uint64),
            "what": np.full(600, 8 << 20, np.uint32),
            "pid": np.full(600, 5, np.uint32),
        }
    )
    described = source_of_kernel(tmp_path / "k", table)
    traced = profile_of(described)
    assert traced.place == "8,0"
    assert traced.total == plain.total == 300
    assert (traced.sequential == plain.sequential).all()
    assert traced.mean_latency_s == pytest.approx(1.5e-3)
    assert traced.depths[1:3].tolist() == [1, 299]  # the first finds none, others one


def source_of_kernel(path: Path, table: pa.Table, end_ns: int | None = None) -> Path:
    fields = (Field(name, "uint64", "", "") for name in ("where", "bytes"))
    kinds = {"time_ns": "int64", "what": "uint32", "pid": "uint32"}
    rest = [Field(name, kind, "", "") for name, kind in kinds.items()]
    names = [Field(name, "name", "", "") for name in ("subsystem", "point", "class")]
    described = RecordType("kernel_event", "events", (*fields, *rest, *names))
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    with DataSetWriter(path) as writer:
        writer.write_described(described, columns)
        if end_ns is not None:
            summary = RecordType("kernel_summary", "sums", (Field("end_ns", "int64", "ns", ""),))
            writer.write_described(summary, {"end_ns": [end_ns]})
        writer.finish(some_info("measured"))
    return path


def test_a_data_set_without_requests_says_what_it_needs(tmp_path):
    with DataSetWriter(tmp_path / "none.sesame") as writer:
        writer.finish(some_info())
    with pytest.raises(InputError, match="expected records of type block_request, kernel_event"):
        open_source(DataSet(tmp_path / "none.sesame"))
    path = write_requests(tmp_path / "f.sesame", [0], operation=["flush"], bytes=[0])
    with pytest.raises(InputError, match="no read or write"):
        open_source(DataSet(path))


def test_a_recording_of_the_kernel_lasts_until_its_last_summary(tmp_path):
    """A second of silence behind the last request counts, too."""
    path = tmp_path / "k"
    events = {
        "time_ns": np.array([0, 10**6, SECOND, SECOND + 10**6]),
        "subsystem": name_column(["block"] * 4),
        "point": name_column(["issue", "complete"] * 2),
        "class": name_column(["write"] * 4),
        "where": np.array([8, 8, 16, 16], np.uint64),
        "bytes": np.full(4, 512, np.uint64),
        "what": np.full(4, 7 << 20, np.uint32),
        "pid": np.full(4, 5, np.uint32),
    }
    source_of_kernel(path, pa.table(events), end_ns=2 * SECOND)
    profile = profile_of(path)
    assert profile.span_s == pytest.approx(2)
    assert profile.rate == pytest.approx(1)


def test_files_have_positions_of_their_own_and_devices_are_no_files(tmp_path):
    """A copy on two ranks at once: each reads a file from its begin to its end, and writes one."""
    run = TracedRun(2)
    device = run.file("/dev/zero", kind="device")
    source_file = run.file("/data/in")
    copies = [run.file(f"/data/out{rank}") for rank in range(2)]
    for rank in range(2):
        for i in range(100):
            at = {"offset": i * 4096, "bytes": 4096}
            run.io(rank, i + 0.1 * rank, 0.01, "read", file=device, **at)
            run.io(rank, i + 0.1 * rank + 0.02, 0.01, "read", file=source_file, **at)
            run.io(rank, i + 0.1 * rank + 0.04, 0.01, "write", file=copies[rank], **at)
    profile = profile_of(run.write(tmp_path / "copies"))
    assert profile.total == 2 * 200
    assert profile.bytes.tolist() == [2 * 409600] * 2
    assert profile.extent == 3 * 409600
    assert profile.sequential.tolist() == [198, 198]  # the first of each stream follows nothing
    assert profile.runs == 4
    assert "same process in the same file" in next(
        f.sentence for f in find(profile) if f.topic == "order"
    )


def test_a_stream_continues_from_one_part_of_the_requests_to_the_next(tmp_path, monkeypatch):
    run = TracedRun(1)
    files = [run.file(f"/data/{name}") for name in "ab"]
    for i in range(40):
        run.io(0, i, 0.1, "read", file=files[i % 2], offset=i // 2 * 64, bytes=64)
    path = run.write(tmp_path / "two")
    whole = profile_of(path)
    monkeypatch.setattr(source, "ROWS", 7)
    assert profile_of(path).sequential.tolist() == whole.sequential.tolist() == [38, 0]
