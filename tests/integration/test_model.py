"""What programs measure is what the machine file says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.integration.installations import IN_PLACE

from sesame import native
from sesame.machines import find_machine

SIZES = [1, 100, 1024, 8192, 65536, 262144, 1048576, 4194304]


@pytest.mark.parametrize("machine", ["sp2", "pfssim", "paragon", "infiniband", "ethernet"])
def test_a_ping_pong_measures_the_machine_files_latency_and_bandwidth(machine, compiled, simulate):
    program = compiled("tests/programs/model/pingpong.c")
    placement = ("--placement", "cyclic")  # ranks 0 and 1 on neighbouring nodes
    ours = simulate(
        "-n", 2, "--machine", machine, "--compute", "none", *placement, "--", program, *SIZES
    )
    assert ours.status == 0, ours.stderr
    measured = {
        int(size): float(time) for size, time in (line.split() for line in ours.stdout.splitlines())
    }
    expected = native.ping_pong_table(str(find_machine(machine)), [], SIZES, 1)
    assert list(measured) == SIZES
    for size, row in zip(SIZES, expected, strict=True):
        assert measured[size] == pytest.approx(row["time_s"], rel=0.005), size


def test_netpipe_prints_the_sp2s_latency_and_bandwidth(debian_program, simulate, tmp_path: Path):
    netpipe = debian_program("netpipe-mpich2", "NPmpich2")
    output = tmp_path / "np.out"
    ours = simulate(
        "-n",
        2,
        "--machine",
        "sp2",
        "--compute",
        "none",
        *IN_PLACE,
        "--",
        netpipe,
        "-u",
        "1048576",
        "-p",
        "0",
        "-o",
        output,
    )
    assert ours.status == 0, ours.stderr
    rows = re.findall(
        r"(\d+) bytes\s+\d+ times -->\s+([\d.]+) Mbps in\s+([\d.]+) usec", ours.stdout + ours.stderr
    )
    smallest, largest = rows[0], rows[-1]
    assert int(smallest[0]) == 1
    assert float(smallest[2]) == pytest.approx(40.025, rel=0.005)  # 40 us and a byte at 40 MB/s
    seconds = int(largest[0]) / 40e6 + 40e-6
    assert float(largest[1]) == pytest.approx(int(largest[0]) * 8 / 2**20 / seconds, rel=0.005)
    # -p 0: no sizes besides the round ones, so the rank's own getopt was in order.
    assert all(int(size) % 2 == 0 or int(size) in (1, 3) for size, _, _ in rows)
    assert output.exists()
