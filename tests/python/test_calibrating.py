"""`sesame machine calibrate` on a machine that does something else."""

from __future__ import annotations

import pytest

from sesame import workloads
from sesame.analysis.calibration import ComputeFit
from sesame.cli import calibrate, calibrating
from sesame.cli.calibrating import Session, busy_counts
from sesame.errors import InputError
from sesame.host_load import HostLoad
from sesame.trust import Reason, median_of

IDLE, LIGHT, BUSY = (HostLoad(10.0, others_s, 0.0, 2) for others_s in (0.1, 1.0, 9.0))


@pytest.fixture
def loads(monkeypatch):
    """The loads that the parts of a session see, one after the other."""
    seen: list[HostLoad] = []

    class Watch:
        def stop(self) -> HostLoad:
            return seen.pop(0)

    monkeypatch.setattr(calibrating, "LoadWatch", Watch)
    return seen


def test_a_disturbed_part_is_measured_again(loads):
    loads += [BUSY, BUSY, IDLE]
    session = Session(1000.0, tell=lambda text: None)
    parts = iter(["first", "second", "third"])
    assert session.measure("messages", lambda: next(parts)) == "third"
    assert session.doubts == []


def test_without_time_left_a_disturbed_part_is_doubtful(loads):
    loads.append(BUSY)
    session = Session(0.0, tell=lambda text: None)
    assert session.measure("messages", lambda: "first") == "first"
    (doubt,) = session.doubts
    assert doubt.reason is Reason.BUSY_HOST
    assert doubt.text == "while messages was measured other processes used 0.90 of 2 processors"


def test_a_part_that_is_always_disturbed_is_measured_three_times(loads):
    loads += [BUSY, LIGHT, BUSY]
    session = Session(1000.0, tell=lambda text: None)
    parts = iter(["first", "second", "third"])
    assert session.measure("messages", lambda: next(parts)) == "second"
    assert session.doubts == []
    (uncertain,) = session.uncertainties
    assert uncertain.text == "while messages was measured other processes used 0.10 of 2 processors"


def test_few_disturbed_repeats_do_not_refuse_their_median(loads):
    session = Session(0.0, tell=lambda text: None)
    for disturbed, doubts, uncertainties in ((2, 0, 2), (3, 3, 2)):
        loads += [BUSY] * disturbed + [IDLE] * (5 - disturbed)
        mark = session.mark()
        for repeat in range(5):
            session.measure(f"round {repeat}", lambda: None)
        session.settle(mark, 5)
        assert (len(session.doubts), len(session.uncertainties)) == (doubts, uncertainties)


def test_on_a_busy_machine_nothing_is_measured_or_written(monkeypatch, tmp_path):
    monkeypatch.setattr(calibrate, "load_of", lambda seconds: BUSY)
    monkeypatch.setattr(workloads, "find_compiler", lambda wanted: None)
    output = tmp_path / "here.toml"
    with pytest.raises(InputError, match=r"other processes used 0\.90 of 2") as error:
        calibrate.calibrate.main(["--file", str(output)], standalone_mode=False)
    assert error.value.exit_status == 2
    assert "--accept-doubts" in str(error.value.hint)
    assert list(tmp_path.iterdir()) == []


def test_all_cores_are_among_those_that_share():
    assert busy_counts(1) == []
    assert busy_counts(2) == [2]
    assert busy_counts(6) == [2, 4, 6]
    assert busy_counts(8) == [2, 4, 8]


def test_a_cost_of_sharing_that_scatters_is_doubtful():
    scattered = ComputeFit("ep S", 1, 2, 1, {2: median_of([0.5, 1.1, 1.9, 2.2, 2.5, 3.0])})
    single = ComputeFit("ep S", 1, 2, 1, {2: median_of([1.2])})
    wide = ComputeFit("ep S", 1, 2, 1, {2: median_of([1.0, 1.0, 1.2, 1.4, 1.5, 1.6])})
    narrow = ComputeFit("ep S", 1, 2, 1, {2: median_of([1.2, 1.21, 1.19, 1.2, 1.2, 1.22])})
    assert scattered.doubts()
    assert "only 1 measured" in single.doubts()[0].text
    assert wide.doubts() == []
    assert "1.300 ± 23.1 %" in wide.uncertainties()[0].text
    assert (narrow.doubts(), narrow.uncertainties()) == ([], [])
