"""nht1 measures what it says, verifies it, and leaves nothing behind."""

from __future__ import annotations

import pytest

SMALL = ["--repeat", "1", "--bytes", "262144", "--record", "65536"]
# Class S: 12 points a side, 60 steps, a dump every 5; a cell is 5 numbers of 8 bytes.
DUMPS_BYTES = 12 * 12**3 * 40


@pytest.fixture(scope="session")
def nht1(program):
    return program("nht1")


@pytest.mark.few_cases(1)
@pytest.mark.parametrize(("ranks", "io"), [(1, "posix"), (1, "full"), (4, "posix")])
def test_all_is_verified_under_a_real_mpi(ranks, io, nht1, mpiexec, tmp_path):
    outcome = mpiexec(ranks, nht1, *SMALL, "--io", io)
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert f"bytes written                {DUMPS_BYTES} byte" in outcome.stdout
    assert "dumps read back right        12, expected 12: right" in outcome.stdout
    assert outcome.stdout.endswith("verified\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ranks", [4, 16])
def test_all_is_verified_in_the_simulator(ranks, nht1, simulate, tmp_path):
    options = ["-n", ranks, "--machine", "paragon", "--compute", "none"]
    outcome = simulate(*options, "--", nht1, *SMALL)
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert outcome.stdout.endswith("verified\n")
    assert list(tmp_path.iterdir()) == []


def test_figures_fit_each_other(bench, nht1):
    outcome = bench("nht1", "--json", "--steps", 10, "--repeat", 2, "--bytes", 1048576)
    assert outcome.status == 0, outcome.stderr
    assert outcome.json["verified"] is None
    figures = {figure["name"]: figure["value"] for figure in outcome.json["figures"]}
    without, with_io = figures["time without I/O"], figures["time with I/O"]
    assert figures["bytes written"] == DUMPS_BYTES / 6
    assert figures["overhead of I/O"] == pytest.approx(100 * (with_io - without) / without)
    if with_io > without:
        effective = figures["bytes written"] / (with_io - without) * 1e-6
        assert figures["effective rate"] == pytest.approx(effective)
    else:
        assert "effective rate" not in figures
    for who in ("one rank", "concurrent"):
        write, read = figures[f"{who} write rate"], figures[f"{who} read rate"]
        assert figures[f"{who} round trip"] == pytest.approx(2 / (1 / write + 1 / read))
    assert any("I/O changes the time" in text for text in outcome.json["findings"])


@pytest.mark.few_cases(2)
@pytest.mark.parametrize(
    ("ranks", "options", "message"),
    [
        (2, [], "nht1 needs a square number of ranks; 2 given"),
        (1, ["--io", "fast"], "--io fast: expected posix, simple, full or epio"),
        (1, ["--record", "12"], "--record: expected a multiple of 8 bytes"),
        (1, ["--bytes", "1000"], "--bytes: expected a multiple of --record"),
        (1, ["--repeat", "0"], "--repeat: expected a positive number"),
        (4, ["--dir", "nowhere"], "--dir nowhere: cannot write there: No such file"),
    ],
)
def test_wrong_options_are_reported_once(ranks, options, message, nht1, mpiexec, tmp_path):
    outcome = mpiexec(ranks, nht1, *options)
    outcome.assert_refused(message)
    assert list(tmp_path.iterdir()) == []


def test_error_in_the_middle_ends_all_ranks(nht1, mpiexec, small_files, tmp_path):
    options = ["--repeat", "1", "--steps", "5", "--bytes", "33554432"]
    outcome = mpiexec(4, nht1, *options)
    assert outcome.status == 1
    assert outcome.stderr.count("error: ") == 1
    assert "cannot write 1048576 bytes at byte 16777216: File too large" in outcome.stderr
    assert list(tmp_path.iterdir()) == []


def test_disk_that_is_full_after_some_dumps_ends_all_ranks(program, mpiexec, small_disk):
    (small_disk / "other").write_bytes(bytes(6_000_000))
    outcome = mpiexec(4, program("bt"), "--io", "posix", "--io-file", "disk/dumps")
    assert outcome.status == 1
    assert outcome.stderr.count("error: bt: disk/dumps: cannot write dump ") == 1
    assert "No space left on device" in outcome.stderr
    assert [path.name for path in small_disk.iterdir()] == ["other"]


def test_too_little_space_is_reported_before_the_run(nht1, mpiexec, small_disk):
    outcome = mpiexec(1, nht1, "--dir", "disk")
    assert outcome.status == 2
    assert "--dir disk: 6.29 MB are free, the run needs 16.8 MB" in outcome.stderr
    assert list(small_disk.iterdir()) == []
