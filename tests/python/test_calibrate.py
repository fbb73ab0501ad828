"""`sesame machine calibrate` and `check` before they measure anything; fits of synthetic curves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sesame import native
from sesame.analysis.calibration import Calibration, ComputeFit, fit_network, machine_text
from sesame.analysis.findings import with_findings
from sesame.analysis.findings.memory import levels_of
from sesame.analysis.storage_fit import fit_storage, storage_text
from sesame.analysis.storage_line import fit_device, fit_line
from sesame.errors import InputError
from sesame.workloads import storage_limit
from sesame.workloads.storage_limit import Limit
from sesame.workloads.storage_times import Curve, StorageTimes, measure_storage

SIZES = [0, 1, 2, 3, *(int(2**k * (1 + i / 4)) for k in range(2, 22) for i in range(4)), 4 << 20]


def report(latency=0.4e-6, send=0.1e-6, receive=0.05e-6, limit=8192, interval=0.1e-6):
    """A curve with a step at `limit`, and 2 % noise."""
    sizes = np.array(SIZES, float)
    times = np.where(sizes <= limit, latency + sizes / 5e9, 2e-6 + sizes / 10e9)
    times *= 1 + 0.02 * np.random.default_rng(3).standard_normal(len(sizes))
    stream = [1.0, 1024.0, 1 << 20]
    return {
        "workload": "messages",
        "ranks": 2,
        "verified": True,
        "checks": [],
        "figures": [
            {"name": "send overhead", "value": send, "unit": "s"},
            {"name": "receive overhead", "value": receive, "unit": "s"},
            {"name": "eager limit", "value": float(limit), "unit": "B"},
        ],
        "tables": {
            "ping_pong": {"size": {"values": SIZES}, "median": {"values": times.tolist()}},
            "stream": {
                "size": {"values": stream},
                "interval": {"values": [interval, 0.3e-6, 105e-6]},
                "exchange": {"values": [0.5e-6, 0.7e-6, 110e-6]},
            },
        },
    }


def text_of(fit, *, cores=2, kernels=None, **more) -> str:
    kernels = kernels or [ComputeFit("ep S", 0.3, 0.33, 0.31)]
    return machine_text(Calibration("here", "h", "p", "today", cores, fit, "m", kernels, **more))


def test_model_reproduces_the_curve(tmp_path):
    fit = fit_network(report())
    assert len(fit.segments) == 2
    errors = np.abs(fit.ping_pong_errors())
    assert np.median(errors) < 0.02
    assert np.max(errors) < 0.07  # 3.5 times the noise that was put in
    (tmp_path / "here.toml").write_text(text_of(fit))
    model = native.read_machine(str(tmp_path / "here.toml"))
    for size in SIZES:
        (row,) = native.ping_pong_table(str(tmp_path / "here.toml"), [], [size], 0)
        assert row["time_s"] == pytest.approx(fit.ping_pong(size), rel=2e-3)
    assert model["node_network"]["eager_limit_bytes"] == 8192
    assert (model["nodes"], model["cores"], model["compute_ratio"]) == (1, 2, 1.0)


def test_overheads_fit_into_the_latency(tmp_path):
    fit = fit_network(report(send=0.5e-6, receive=0.25e-6))
    assert fit.send_overhead == pytest.approx(2 * fit.receive_overhead)
    assert fit.send_overhead + fit.receive_overhead <= min(s.intercept for s in fit.segments)
    (tmp_path / "here.toml").write_text(text_of(fit))
    native.read_machine(str(tmp_path / "here.toml"))


@pytest.mark.parametrize("share", [0.3, 0.4123457, 0.5, 0.6180339])
def test_overheads_that_are_the_whole_latency_stay_within_it_when_written(share, tmp_path):
    """Rounded to the nearest picosecond each, they came to one more than the latency."""
    fit = fit_network(report())
    for picoseconds in (252000.5, 252001.0, 251999.7):
        latency = picoseconds * 1e-12
        whole = replace(
            fit,
            send_overhead=share * latency,
            receive_overhead=(1 - share) * latency,
            segments=[replace(segment, intercept=latency) for segment in fit.segments],
        )
        (tmp_path / "here.toml").write_text(text_of(whole))
        network = native.read_machine(str(tmp_path / "here.toml"))["node_network"]
        written = network["send_overhead_s"] + network["receive_overhead_s"]
        assert written <= network["latency_s"]
        assert written == pytest.approx(latency, abs=3e-12)


def test_a_stream_slower_than_its_overheads_has_a_gap():
    assert fit_network(report(interval=0.08e-6)).gap == 0
    slow = fit_network(report(interval=0.3e-6))
    assert slow.gap == pytest.approx(0.3e-6)
    assert slow.stream_errors()[0] == pytest.approx(0)


def test_a_stream_that_is_lost_in_noise_has_no_gap(tmp_path):
    fit = fit_network(report(interval=0.0))
    assert fit.gap == 0
    text = text_of(fit)
    assert "nan" not in text
    assert "inf" not in text
    (tmp_path / "here.toml").write_text(text)
    native.read_machine(str(tmp_path / "here.toml"))


def test_file_says_what_was_not_measured():
    fit = fit_network(report())
    text = text_of(fit)
    assert "# Storage was not measured" in text
    assert "# Between nodes nothing was measured: one host." in text
    assert "ep S         alone 300 ms, on all cores at once 330 ms" in text
    between = text_of(fit, between=fit, hosts=["a", "b"])
    assert "nothing was measured" not in between
    assert "nodes = 2" in between


def test_a_curve_without_slope_has_no_asymptotic_bandwidth():
    flat = report()
    flat["tables"]["ping_pong"]["median"]["values"] = [1e-6] * len(SIZES)
    names = [figure["name"] for figure in with_findings(flat)["figures"]]
    assert "latency" in names
    assert "asymptotic bandwidth" not in names


def storage_times(**more) -> StorageTimes:
    """What the constants of `expected` give: 2 ms, 100 and 50 MB/s; 3 ms for a commit."""
    sizes = [4096 << k for k in range(11)]

    def curve(latency: float, bandwidth: float) -> Curve:
        return Curve(sizes, [latency + size / bandwidth for size in sizes])

    metadata = {"open": 5e-6, "create": 25e-6, "close": 2e-6, "stat": 1.5e-6, "remove": 10e-6}
    given = {
        "directory": "/scratch",
        "cache_bytes": 1 << 30,
        "metadata": metadata,
        "cached_write": curve(1e-6, 1e9),
        "cached_read": curve(1e-6, 4e9),
        "device_write": curve(2e-3, 60e6),
        "device_read": curve(2e-3, 100e6),
        "synced_write": curve(5e-3, 50e6),
        "sequential": 2 * 2e-3 / ((16 + 32) * 4096) + 1 / 100e6,
        "is_direct": True,
    }
    return StorageTimes(**{**given, **more})


def test_constants_of_storage_are_found_again():
    fit = fit_storage(storage_times())
    assert fit.overhead == pytest.approx(1e-6, rel=1e-6)
    assert fit.to_cache.bandwidth == pytest.approx(1e9, rel=1e-6)
    assert fit.from_cache.bandwidth == pytest.approx(4e9, rel=1e-6)
    assert fit.device_read.latency == pytest.approx(2e-3, rel=1e-6)
    assert fit.device_read.bandwidth == pytest.approx(100e6, rel=1e-6)
    assert fit.device_write.latency == pytest.approx(2e-3, rel=1e-6)
    assert fit.device_write.bandwidth == pytest.approx(50e6, rel=1e-6)  # as an fsync writes
    assert fit.sync == pytest.approx(3e-3, rel=1e-6)
    assert fit.read_ahead == 32
    assert fit.metadata == pytest.approx(
        {"open": 4e-6, "create": 20e-6, "close": 1e-6, "stat": 0.5e-6, "remove": 9e-6}
    )


def test_what_a_commit_writes_is_no_part_of_the_rest_of_its_time():
    """Data, four blocks and a record, 20 KiB in all, take 3 * 1 ms and a bit of the 5 ms."""
    times = storage_times(journal=5 * 4096)
    sizes, slow = (
        times.device_write.sizes,
        [1e-3 + size / 60e6 for size in times.device_write.sizes],
    )
    fit = fit_storage(storage_times(journal=5 * 4096, device_write=Curve(sizes, slow)))
    assert fit.sync == pytest.approx(5e-3 - 3e-3 - 5 * 4096 / 50e6, rel=1e-4)
    assert fit.synced_time(1 << 20) == pytest.approx(1e-6 + 5e-3 + (1 << 20) / 50e6, rel=1e-4)
    assert 'journal = "20480 B"' in storage_text(fit)


def test_a_commit_takes_no_less_than_its_writes():
    fit = fit_storage(storage_times(journal=5 * 4096))  # of 2 ms each: 6 ms, and 5 were measured
    assert fit.sync == 0
    assert fit.device_write.latency == pytest.approx(5e-3 / 3, rel=1e-6)


def test_synchronous_writes_go_through_the_cache():
    times = storage_times()
    fit = fit_storage(
        storage_times(cached_write=times.synced_write, synced_write=times.cached_read)
    )
    assert 'write_hit = "through"' in storage_text(fit)
    assert fit.sync == 0
    assert fit.device_write.latency == pytest.approx(5e-3, rel=1e-6)


def test_writes_into_memory_that_is_no_faster_than_the_device_do_not_wait_for_it():
    times = storage_times()
    fit = fit_storage(storage_times(device_write=times.cached_write))
    assert 'write_hit = "back"' in storage_text(fit)
    assert fit.sync > 0


def test_a_rate_limit_that_saves_up_is_found_behind_what_it_lets_pass():
    """256 KiB at once at the speed of the memory, the rest at 32 MB/s."""
    sizes = [4096 << k for k in range(11)]
    times = [1e-4 + max(size - (1 << 18), 0) / 32e6 for size in sizes]
    line = fit_device(Curve(sizes, times))
    assert line.bandwidth == pytest.approx(32e6, rel=0.15)
    assert line.latency < 1e-4


def test_a_line_has_no_negative_part():
    falling = fit_line(Curve([4096, 8192], [2e-3, 1.9e-3]))
    assert falling.slope == pytest.approx(0.05 * 1.9e-3 / 8192)  # the least that is assumed
    assert falling.at(8192) == pytest.approx(1.9e-3)
    assert falling.doubt() is not None
    steep = fit_line(Curve([4096, 8192], [1e-3, 3e-3]))
    assert steep.latency == 0
    assert steep.slope == pytest.approx(1e-3 / 4096, rel=0.5)


def test_the_file_has_a_model_of_storage(tmp_path):
    text = text_of(fit_network(report()), storage=fit_storage(storage_times()))
    assert max(map(len, text.splitlines())) <= 120
    (tmp_path / "here.toml").write_text(text)
    storage = native.read_machine(str(tmp_path / "here.toml"))["node_storage"]
    assert storage["mounts"] == ["/scratch"]
    assert (storage["device"], storage["ionode_cache_bytes"]) == ("fixed", 1 << 30)


def test_the_machine_file_has_the_limit():
    bucket = storage_text(fit_storage(storage_times(write_limit=Limit(32e6, 1.6e6, 0.0))))
    assert 'write_limit = "32000000 B/s"\nwrite_burst = "1600000 B"' in bucket
    assert "read_limit" not in bucket
    periods = Limit(32e6, 3.2e6, 0.1)
    both = storage_text(fit_storage(storage_times(write_limit=periods, read_limit=periods)))
    assert 'read_limit = "32000000 B/s"\nwrite_limit = "32000000 B/s"\nlimit_refill = "100' in both


def test_storage_is_measured_where_asked(tmp_path, monkeypatch):
    for short in ("PAUSE", "LONGEST"):
        monkeypatch.setattr(storage_limit, short, 0.05)
    times = measure_storage(tmp_path)
    assert times.directory == str(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert all(took > 0 for took in times.metadata.values())
    assert times.cached_read.times[-1] > times.cached_read.times[0]


def test_a_directory_that_is_not_there_cannot_be_measured(tmp_path):
    with pytest.raises(InputError, match="cannot measure storage there"):
        measure_storage(tmp_path / "missing")


def test_findings_say_the_step_in_words():
    sentences = with_findings(report())["findings"]
    assert sentences[0].startswith("up to 8 KiB: ")
    assert "soon above 8 KiB the protocol changes: +" in sentences[1]
    assert "messages above 8 KiB wait until their receive is posted (rendezvous)" in sentences


def test_levels_of_caches_are_found():
    sizes = np.array(SIZES[4:], float)
    speeds = np.where(sizes <= 48 * 1024, 150e9, np.where(sizes <= 1.25 * 2**20, 80e9, 16e9))
    noisy = speeds * (1 + 0.05 * np.random.default_rng(2).standard_normal(len(sizes)))
    levels = levels_of(sizes, noisy)
    assert [last for last, _ in levels] == [48 * 1024, 1.25 * 2**20, 4 << 20]
    assert [speed for _, speed in levels] == pytest.approx([150e9, 80e9, 16e9], rel=0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["calibrate", "--file", "here.txt"],
            "--file here.txt: expected a name that ends with .toml",
        ),
        (["calibrate", "--file", "no/here.toml"], "no/here.toml: cannot write there"),
        (["calibrate", "--file", "here.toml", "--mpi", "nompi"], "--mpi nompi: no such compiler"),
        (["check", "sp2", "--within", "5%"], "--within needs a measurement to compare with"),
        (["check", "sp2", "--placement", "cyclic"], "--placement needs a measurement"),
        (["check", "sp2", "--against", "no.sesame"], "no.sesame: this is no data set"),
        (["check", "sp2", "--against", "no", "--within", "x"], "--within x: expected a percentage"),
        (["check", "nomachine"], "no machine model called nomachine"),
    ],
)
def test_wrong_use_is_reported_before_anything_is_measured(arguments, message, sesame, tmp_path):
    outcome = sesame("machine", *arguments)
    assert outcome.status in (1, 2)
    assert message in outcome.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_kept(sesame, tmp_path):
    (tmp_path / "here.toml").write_text("mine")
    outcome = sesame("machine", "calibrate", "--file", "here.toml")
    assert outcome.status == 2
    assert "--force" in outcome.stderr
    assert (tmp_path / "here.toml").read_text() == "mine"
