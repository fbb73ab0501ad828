"""BT, SP and LU give the published answers however the grid is shared; BT's files are right."""

from __future__ import annotations

import pytest

APPLICATIONS = ["bt", "sp", "lu"]
# Class S: 12 points a side, 60 steps, a dump every 5; a cell is 5 numbers of 8 bytes.
DUMPS_BYTES = 12 * 12**3 * 40


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("name", APPLICATIONS)
def test_application_is_verified_under_a_real_mpi(name, ranks, program, mpiexec):
    outcome = mpiexec(ranks, program(name), "--class", "S")
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert outcome.stdout.endswith("verified\n")


# Subdomains of 3 points, of 1 and 2, and for bt and sp of 1 only; lu in oblong and square grids.
@pytest.mark.few_cases(4)
@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        *(("bt", 9), ("sp", 16), ("lu", 2), ("bt", 64)),
        *(("bt", 16), ("bt", 144), ("sp", 9), ("sp", 64), ("sp", 144), ("lu", 16), ("lu", 64)),
    ],
)
def test_application_is_verified_in_the_simulator(name, ranks, program, simulate):
    options = ["-n", ranks, "--machine", "infiniband", "--compute", "none"]
    outcome = simulate(*options, "--", program(name), "--class", "S")
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert outcome.stdout.endswith("verified\n")


@pytest.mark.few_cases(2)
@pytest.mark.parametrize(
    ("name", "ranks", "needed"),
    [
        ("bt", 2, "a square number of ranks"),
        ("sp", 3, "a square number of ranks"),
        ("lu", 3, "a power of two of ranks"),
        ("bt", 169, "at most 144 ranks"),
        ("lu", 128, "at most 64 ranks"),
    ],
)
def test_number_of_ranks_that_does_not_suit_is_refused(name, ranks, needed, program, simulate):
    options = ["-n", ranks, "--machine", "infiniband", "--compute", "none"]
    outcome = simulate(*options, "--", program(name), "--class", "S")
    assert outcome.status == 2
    assert f"{name} needs {needed}" in outcome.stderr


def test_other_number_of_steps_is_not_verified(program, mpiexec):
    outcome = mpiexec(1, program("lu"), "--steps", "3")
    assert outcome.status == 0
    assert "not verified: the answer is published for 50 steps" in outcome.stdout


@pytest.mark.parametrize("ranks", [4, 9, 16])
@pytest.mark.parametrize("mode", ["simple", "full", "epio"])
def test_dumps_are_read_back_right_in_the_simulator(mode, ranks, program, simulate):
    machine = ["-n", ranks, "--machine", "infiniband", "--compute", "none"]
    outcome = simulate(*machine, "--", program("bt"), "--io", mode)
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert outcome.stdout.endswith("verified\n")


# With 4 ranks, posix, simple and full write the files that the next test compares, too.
@pytest.mark.few_cases(2)
@pytest.mark.parametrize(
    ("mode", "ranks"),
    [(mode, 1) for mode in ("posix", "simple", "full", "epio")]
    + [("epio", 4)]
    + [pytest.param(mode, 4, marks=pytest.mark.long) for mode in ("posix", "simple", "full")],
)
def test_dumps_are_read_back_right_and_removed(mode, ranks, program, mpiexec, tmp_path):
    outcome = mpiexec(ranks, program("bt"), "--io", mode)
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert "dumps read back right        12, expected 12: right" in outcome.stdout
    assert f"bytes written                {DUMPS_BYTES} byte" in outcome.stdout
    assert list(tmp_path.iterdir()) == []


def test_shared_file_is_the_same_however_it_is_written(program, mpiexec, tmp_path):
    runs = [(1, "epio"), (1, "simple"), (4, "simple"), (4, "full"), (4, "posix")]
    for ranks, mode in runs:
        outcome = mpiexec(
            ranks, program("bt"), "--io", mode, "--io-file", mode + str(ranks), "--keep"
        )
        assert outcome.status == 0, outcome.stdout + outcome.stderr
    contents = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    assert len(contents) == len(runs)
    assert len(contents[0]) == DUMPS_BYTES
    assert all(content == contents[0] for content in contents)


@pytest.mark.few_cases(2)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--io", "fast"], "--io fast: expected posix, simple, full or epio"),
        (
            ["--io", "full", "--io-file", "nowhere/x"],
            "nowhere/x: cannot create: File does not exist",
        ),
        (["--io", "simple", "--io-file", "mine"], "mine: cannot create: File exists"),
        (["--io", "posix", "--io-file", "mine"], "mine: cannot create: File exists"),
        (["--io", "epio", "--io-file", "own"], "own.1: cannot create: File exists"),
    ],
)
def test_file_that_cannot_be_written_is_reported_once(options, message, program, mpiexec, tmp_path):
    (tmp_path / "mine").write_text("precious")
    (tmp_path / "own.1").write_text("precious")
    outcome = mpiexec(4, program("bt"), *options)
    outcome.assert_refused(message)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "own.1"]
    assert (tmp_path / "mine").read_text() == (tmp_path / "own.1").read_text() == "precious"
