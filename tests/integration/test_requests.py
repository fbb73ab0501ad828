"""The workload requests draws what it is asked for, and its data are right."""

from __future__ import annotations

import json
import shlex
import statistics
import subprocess

import pytest
from tests.integration.installations import IN_PLACE, ROOT

SHORT = ["--requests", "1000", "--warmup", "100"]
SHORT_OF = {
    "requests": SHORT,
    "oocmm": ["--order", "40"],
    "sparse": ["--order", "100"],
    "iow": ["--size", "64:4096", "--operations", "16", "--repeat", "2"],
    "nht1": ["--repeat", "1", "--bytes", "262144", "--record", "65536"],
}
WAYS = [
    "",
    "--file own",
    "--offsets sequential",
    "--offsets strided --sizes fixed --file own --reads 0",
    "--offsets hot --sizes geometric --largest 8",
    "--blocks 5 --reads 50 --block-size 8KiB",  # many at the same place
    "--interface mpi",
    "--interface mpi --file own --blocks 100",
]


def figures(report):
    return {figure["name"]: figure["value"] for figure in report["figures"]}


def table(report, name):
    return {column: part["values"] for column, part in report["tables"][name].items()}


@pytest.fixture
def requests(program, mpiexec, tmp_path):
    """requests(ranks, *options): the report of a run."""

    def execute(ranks, *options):
        outcome = mpiexec(ranks, program("requests"), *options, "--report", "report.json")
        assert outcome.status == 0, outcome.stdout + outcome.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
        return json.loads((tmp_path / "report.json").read_text())

    return execute


@pytest.mark.few_cases(4)
@pytest.mark.parametrize(("way", "ranks"), [*((way, 2) for way in WAYS), ("", 1), ("", 4)])
def test_data_are_right_in_every_way(way, ranks, requests):
    report = requests(ranks, *SHORT, *shlex.split(way))
    assert report["verified"] is True
    sizes = table(report, "sizes")
    assert sum(sizes["requests"]) == ranks * 1000


# 5,000 requests of the report: three standard deviations around what is asked for.
def test_mix_and_sizes_are_those_of_the_report(requests):
    report = requests(2, "--warmup", "0")
    assert figures(report)["reads"] == pytest.approx(80, abs=300 * (0.8 * 0.2 / 10_000) ** 0.5)
    sizes = table(report, "sizes")
    assert sizes["blocks"] == [1, 2, 3, 4]
    for count in sizes["requests"]:
        assert count == pytest.approx(2500, abs=3 * (10_000 * 0.25 * 0.75) ** 0.5)
    mean = statistics.fmean(sizes["blocks"], weights=sizes["requests"])
    assert figures(report)["mean request"] == pytest.approx(4096 * mean)


def test_geometric_sizes_halve(requests):
    report = requests(2, "--warmup", "0", "--sizes", "geometric", "--largest", "3")
    expected = [5000, 2500, 2500]
    for count, wanted in zip(table(report, "sizes")["requests"], expected, strict=True):
        assert count == pytest.approx(wanted, abs=3 * 50)


def test_latencies_are_those_of_all_requests(requests):
    report = requests(2, *SHORT, "--reads", "50")
    latency, histogram = table(report, "latency"), table(report, "histogram")
    reads = round(figures(report)["reads"] / 100 * 2000)
    assert sum(histogram["reads"]) == reads
    assert sum(histogram["writes"]) == 2000 - reads
    assert latency["read"] == sorted(latency["read"])
    assert latency["read"][0] > 0
    for kind in ("read", "write"):
        mean = figures(report)[f"mean time of a {kind}"]
        assert latency[kind][0] < mean < latency[kind][-1]
        median = latency["percentile"].index(50)
        below = [n for up_to, n in zip(histogram["up to"], histogram[kind + "s"], strict=True)
                 if up_to <= latency[kind][median]]  # fmt: skip
        assert sum(below) <= sum(histogram[kind + "s"]) / 2


def test_one_kind_of_request_alone(requests):
    report = requests(1, *SHORT, "--reads", "100")
    assert figures(report)["reads"] == 100
    assert set(table(report, "latency")["write"]) == {0}


@pytest.mark.parametrize("ranks", [4, 16])
def test_data_are_right_in_the_simulator(ranks, program, simulate):
    machine = ["-n", ranks, "--machine", "paragon"]
    outcome = simulate(*machine, "--", program("requests"), *SHORT)
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert outcome.stdout.endswith("verified\n")


@pytest.mark.few_cases(2)
@pytest.mark.parametrize(
    ("name", "option"),
    [(name, "--interface=mpi") for name in ("requests", "oocmm", "sparse", "iow")]
    + [("nht1", "--io=full")],
)
def test_data_are_right_with_simulated_mpi_io(name, option, program, simulate):
    machine = ["-n", 4, "--machine", "infiniband", "--compute", "none"]
    outcome = simulate(*machine, "--", program(name), option, *SHORT_OF[name])
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert "MPI_File_open" in outcome.stderr


def test_caching_policies_of_a_shipped_machine_are_compared_at_once(program, simulate, tmp_path):
    policies = ["base", "greedy", "coordinated", "global"]
    sweeps = [
        "--sweep",
        "storage.ionodes=1,4",
        "--sweep",
        f"storage.cache.policy={','.join(policies)}",
    ]
    machine = ["-n", 8, "--machine", "pfssim", "--compute", "none", "--report", "page.html"]
    outcome = simulate(*machine, *sweeps, "--json", "--", program("requests"), *SHORT)
    assert outcome.status == 0, outcome.stderr
    runs = json.loads(outcome.stdout)["runs"]
    times = [run["predicted_time_s"] for run in runs]
    reads = [run["device_reads"] for run in runs]
    assert len(set(times)) == len(set(reads)) == 8
    for first in (0, 4):
        # The more the caches work together, the less is read (SESAME report, 8.2.4).
        assert reads[first : first + 4] == sorted(reads[first : first + 4], reverse=True)
        assert times[first + 3] < 0.95 * times[first]
    page = (tmp_path / "page.html").read_text()
    for policy in policies:
        assert f"storage.cache.policy={policy}" in page


def test_thinking_takes_simulated_time(program, simulate, tmp_path):
    machine = ["-n", 4, "--machine", "infiniband", "--compute", "none"]
    options = ["--requests", 1000, "--warmup", 0, "--think", 1000, "--report", "report.json"]
    outcome = simulate(*machine, *IN_PLACE, "--", program("requests"), *options)
    assert outcome.status == 0, outcome.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    # The largest of four sums of 1,000 exponential times of 1 ms: each 1 s, deviation 0.032 s.
    thinking = report["time_s"] - figures(report)["time in requests"]
    assert 0.9 < thinking < 1.2


@pytest.mark.parametrize("interface", ["posix", "mpi"])
def test_rank_that_fails_alone_ends_all(interface, program, mpiexec, small_files, tmp_path):
    # A file of 20 MB: only the last rank's part comes to the limit.
    outcome = mpiexec(2, program("requests"), "--blocks", "5000", "--interface", interface)
    assert outcome.status == 1
    assert outcome.stderr.count("error: requests: rank 1: ") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="session")
def faulty_pwrite(tmp_path_factory):
    """A library to preload, see its source."""
    library = tmp_path_factory.mktemp("fault") / "faulty_pwrite.so"
    source = ROOT / "tests/programs/workloads/faulty_pwrite.c"
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library), "-ldl"], check=True)
    return str(library)


FILL = 1  # writes that make the file of 64 blocks
WRITES = ["--reads", "0", "--blocks", "64", "--requests", "8", "--warmup", "0"]
ROWS = ["--order", "17", "--memory", "2KiB"]  # 17 writes for each factor, 3 for the product


@pytest.mark.few_cases(3)
@pytest.mark.parametrize(
    ("name", "options", "number", "said"),
    [
        ("requests", WRITES, FILL + 8, "blocks right at the end      63, expected 64: WRONG"),
        ("requests", [*WRITES, "--file", "own"], FILL + 8, "63, expected 64: WRONG"),
        ("oocmm", ROWS, 1, "rows right                   16, expected 17: WRONG"),
        ("oocmm", ROWS, 36, "rows right                   16, expected 17: WRONG"),
        ("sparse", [], 5, "nonzeros                     9001, expected 9000: WRONG"),
    ],
)
def test_wrong_bit_in_a_file_comes_to_light(
    name, options, number, said, faulty_pwrite, program, mpiexec, monkeypatch, tmp_path
):
    made = program(name)
    monkeypatch.setenv("LD_PRELOAD", faulty_pwrite)
    monkeypatch.setenv("FAULT", f"flip:{number}")
    outcome = mpiexec(1, made, *options)
    assert outcome.status == 1, outcome.stdout + outcome.stderr
    assert said in outcome.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "options", "number"),
    [("requests", WRITES, 5), ("oocmm", ROWS, 20), ("sparse", [], 30)],
)
def test_disk_that_becomes_full_ends_all_and_leaves_nothing(
    name, options, number, faulty_pwrite, program, mpiexec, monkeypatch, tmp_path
):
    made = program(name)
    monkeypatch.setenv("LD_PRELOAD", faulty_pwrite)
    monkeypatch.setenv("FAULT", f"fail:{number}")
    outcome = mpiexec(2, made, *options)
    assert outcome.status == 1
    assert outcome.stderr.count("error: ") == 1
    assert "No space left on device" in outcome.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.few_cases(4)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--reads", "101"], "--reads: expected from 0 to 100 per cent"),
        (["--hot-share", "-1"], "--hot-share: expected from 0 to 100 per cent"),
        (["--largest", "5000"], "--largest: expected from 1 to the number of blocks"),
        (["--block-size", "4KiB,8KiB"], "--block-size 4KiB,8KiB: expected a size such as 64KiB"),
        (["--block-size", "12"], "a multiple of 8 bytes"),
        (["--requests", "0"], "--requests: expected from 1"),
        (["--sizes", "normal"], "--sizes normal: expected uniform, fixed or geometric"),
        (["--offsets", "here"], "expected random, sequential, strided or hot"),
        (["--file", "mine"], "--file mine: expected shared or own"),
        (["--interface", "hdf5"], "--interface hdf5: expected posix or mpi"),
        (["--dir", "nowhere"], "--dir nowhere: cannot write there"),
        (["--blocks", "1000000000", "--block-size", "1MiB"], "the run needs"),
    ],
)
def test_what_cannot_be_done_is_reported_once(options, message, program, mpiexec, tmp_path):
    outcome = mpiexec(2, program("requests"), *options)
    outcome.assert_refused(message)
    assert list(tmp_path.iterdir()) == []
