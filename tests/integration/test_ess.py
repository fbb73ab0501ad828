"""Programs of Earth and space science: the same right answer however they run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.integration.installations import IN_PLACE, MPIS

SMALL = {
    "wavelet": ["--size", "64"],
    "nbody": ["--bodies", "120", "--steps", "10"],
    "ppm": ["--width", "48", "--height", "64", "--steps", "4", "--every", "2"],
}
ROOT3 = np.sqrt(3)
DAUBECHIES = np.array([1 + ROOT3, 3 + ROOT3, 3 - ROOT3, 1 - ROOT3]) / (4 * np.sqrt(2))


@pytest.fixture(params=SMALL)
def workload(request, program):
    """A name and its program."""
    if request.param == "nbody" and shutil.which(MPIS["debian"].compilers["f90"]) is None:
        pytest.skip("needs Debian's mpif90.mpich")
    return request.param, program(request.param)


def without_times(report):
    keep = {name: report[name] for name in ("verified", "parameters", "checks")}
    tables = {k: v for k, v in report["tables"].items() if k != "phases"}
    return keep | {"tables": tables}


def answers(report):
    """Numbers of all tables and checks, for comparison to rounding."""
    columns = [c["values"] for t in without_times(report)["tables"].values() for c in t.values()]
    numbers = [x for values in columns for x in values if not isinstance(x, str)]
    return numbers + [check["value"] for check in report["checks"]]


def test_same_answer_under_mpiexec_in_the_simulator_and_alone(
    workload, mpiexec, simulate, tmp_path
):
    name, program = workload
    reports = {}
    for ranks in (1, 2, 4):
        outcome = mpiexec(ranks, program, *SMALL[name], "--report", "report.json")
        assert outcome.status == 0, outcome.stdout + outcome.stderr
        reports[ranks] = json.loads((tmp_path / "report.json").read_text())
    for ranks in (4, 16):
        options = ["-n", ranks, "--machine", "infiniband", "--compute", "none"]
        outcome = simulate(
            *options, *IN_PLACE, "--", program, *SMALL[name], "--report", "report.json"
        )
        assert outcome.status == 0, outcome.stdout + outcome.stderr
        reports[f"{ranks} simulated"] = json.loads((tmp_path / "report.json").read_text())
    alone = reports.pop(1)
    assert alone["verified"] is True
    for how, report in reports.items():
        assert report["verified"] is True, how
        # Sums over all ranks differ in their last digits; nbody and ppm add in one order.
        tolerance = 1e-12 if name == "wavelet" else 0
        assert answers(report) == pytest.approx(answers(alone), rel=tolerance, abs=tolerance), how
    left = {path.name for path in tmp_path.iterdir() if path.suffix != ".sesame"}
    assert left == {"report.json"}


def write_image(path: Path, pixels: np.ndarray) -> None:
    height, width = pixels.shape
    path.write_bytes(b"P5\n# a comment\n%d %d\n255\n" % (width, height) + pixels.tobytes())


def filters(count: int) -> np.ndarray:
    """The periodic transform as a matrix: coarse rows first."""
    fine = DAUBECHIES[::-1] * [1, -1, 1, -1]
    matrix = np.zeros((count, count))
    for i in range(count // 2):
        for k in range(4):
            matrix[i, (2 * i + k) % count] += DAUBECHIES[k]
            matrix[count // 2 + i, (2 * i + k) % count] += fine[k]
    return matrix


@pytest.mark.few_cases(1)
@pytest.mark.parametrize(("ranks", "scratch"), [(1, "files"), (3, "files"), (3, "messages")])
def test_bands_are_products_with_the_filter_matrices(ranks, scratch, program, mpiexec, tmp_path):
    pixels = np.random.default_rng(5).integers(0, 256, (48, 32), dtype=np.uint8)
    write_image(tmp_path / "image.pgm", pixels)
    (tmp_path / "bands").mkdir()
    options = ["--image", "image.pgm", "--levels", "2", "--output", "bands", "--scratch", scratch]
    outcome = mpiexec(ranks, program("wavelet"), *options)
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    coarse = pixels.astype(float)
    for level in (1, 2):
        height, width = coarse.shape
        whole = filters(height) @ coarse @ filters(width).T
        parts = {
            f"HL{level}": whole[: height // 2, width // 2 :],
            f"LH{level}": whole[height // 2 :, : width // 2],
            f"HH{level}": whole[height // 2 :, width // 2 :],
        }
        coarse = whole[: height // 2, : width // 2]
        if level == 2:
            parts["LL2"] = coarse
        for name, expected in parts.items():
            band = np.fromfile(tmp_path / "bands" / name).reshape(expected.shape)
            np.testing.assert_allclose(band, expected, atol=1e-9)
    assert len(list((tmp_path / "bands").iterdir())) == 7


@pytest.mark.parametrize("workload", ["nbody"], indirect=True)
def test_bodies_have_the_energy_of_a_plummer_sphere(workload, mpiexec, tmp_path):
    _, program = workload
    options = ["--bodies", "2000", "--steps", "1", "--softening", "0.001"]
    outcome = mpiexec(2, program, *options, "--report", "report.json", "--statistics", "lines")
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    energy = next(figure["value"] for figure in report["figures"] if figure["name"] == "energy")
    assert energy == pytest.approx(-3 * np.pi / 64, rel=0.05)  # in units of mass and scale length
    assert (tmp_path / "lines").read_text().split()[0] == "0"


def test_density_of_the_blast_is_written_and_conserved(program, mpiexec, tmp_path):
    (tmp_path / "out").mkdir()
    outcome = mpiexec(2, program("ppm"), *SMALL["ppm"], "--output", "out")
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    density = np.fromfile(tmp_path / "out/density").reshape(64, 48)
    assert density.mean() == pytest.approx(1.0, rel=1e-12)
    assert density.max() > 1.5 > 0.9 > density.min()
    lines = (tmp_path / "out/statistics").read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["2", "4"]


@pytest.mark.few_cases(4)
@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("wavelet", ["--image", "nowhere.pgm"], "--image nowhere.pgm: cannot open"),
        ("wavelet", ["--image", "short.pgm"], "truncated: expected 3072 bytes of 64 x 48 points"),
        ("wavelet", ["--image", "text.pgm"], "expected a portable greymap of 8 bits"),
        ("wavelet", ["--levels", "5", "--size", "48"], "cannot be halved that often"),
        ("wavelet", ["--output", "nowhere"], "--output nowhere: cannot write there"),
        ("wavelet", ["--dir", "/proc"], "--dir /proc"),
        ("wavelet", ["--taps", "3"], "--taps takes 2 or 4"),
        ("ppm", ["--height", "4"], "at most 1 ranks (each has at least 4 rows"),
        ("ppm", ["--border", "wall"], "expected periodic or outflow"),
        ("ppm", ["--steps", "0"], "take numbers above 0"),
        ("nbody", ["--bodies", "1"], "--bodies takes 2 to 1000000"),
        ("nbody", ["--statistics", "nowhere/lines"], "--statistics nowhere/lines: cannot write"),
        ("nbody", ["--step", "nan"], "--step and --softening take numbers above 0"),
        ("nbody", ["--body", "3"], "--body"),
    ],
)
def test_bad_input_is_reported_once(name, options, message, program, mpiexec, tmp_path):
    (tmp_path / "short.pgm").write_bytes(b"P5 64 48 255\n" + bytes(100))
    (tmp_path / "text.pgm").write_text("hello")
    outcome = mpiexec(2, program(name), *options)
    assert outcome.status == 2, outcome.stdout
    assert outcome.stderr.count("error: ") == 1
    assert message in outcome.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"short.pgm", "text.pgm"}


def test_error_in_the_middle_leaves_no_part_of_the_results(program, mpiexec, small_files, tmp_path):
    (tmp_path / "bands").mkdir()
    options = ["--size", "3072", "--scratch", "messages", "--output", "bands"]
    outcome = mpiexec(2, program("wavelet"), *options)
    assert outcome.status == 1
    assert outcome.stderr.count("error: wavelet: rank 0: ") == 1
    assert "File too large" in outcome.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["bands"]


def test_fortran_without_its_wrapper_is_reported(bench):
    wrapper = MPIS["wheel"].compilers["cc"]
    if shutil.which(wrapper) is None:
        pytest.skip("needs the mpich wheel")
    outcome = bench("nbody", "--mpi", wrapper)
    assert outcome.status == 1
    assert "there is no MPI wrapper for Fortran that goes with" in outcome.stderr
    assert "hint: " in outcome.stderr
