"""Numbers that no run can have are refused before it, with exit status 2."""

from __future__ import annotations

import json
import subprocess

import pytest

from sesame.machines import find_machine
from sesame.simulation.host import find_host

MACHINE = ["--machine", "paragon"]
BEYOND_64_BITS = str(2**64)


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("-n", "0", "expected a number of ranks"),
        ("-n", "-4", "expected a number of ranks"),
        ("-n", str(2**32 + 1), "expected a number of ranks from 1 to"),
        ("-n", "4,999999999999999999999", "expected a number of ranks from 1 to"),
        ("--stack-size", "0", "--stack-size 0: expected a size from 64 KiB to 1 TiB"),
        ("--stack-size", "4KiB", "expected a size from 64 KiB"),
        ("--stack-size", "-1", "--stack-size -1: expected a size"),
        ("--stack-size", "2TiB", "expected a size from 64 KiB to 1 TiB"),
        ("--stack-size", "1e19", "--stack-size 1e19"),
        ("--seed", "-1", "--seed"),
        ("--seed", BEYOND_64_BITS, "--seed"),
        ("--shuffle", "-1", "--shuffle"),
        ("--shuffle", BEYOND_64_BITS, "--shuffle"),
        ("--compute", "fixed:-1us", "--compute fixed:-1us: expected a duration"),
        ("--compute", "fixed:100000s", "expected at most a day"),
        ("--scale-compute", "-1", "--scale-compute"),
        ("--scale-compute", "1e300", "--scale-compute"),
    ],
)
def test_a_number_that_cannot_be_is_refused(sesame, option, value, words):
    run = sesame(
        "simulate",
        *MACHINE,
        f"{option}={value}" if option[1] == "-" else option,
        *([] if option[1] == "-" else [value]),
        "--",
        "ring",
        "3",
    )
    assert run.status == 2
    assert words in run.stderr
    assert "hello" not in run.stdout


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ranks": 0}, '"ranks": expected a whole number from 1 to 16777216, got 0'),
        ({"ranks": 2**32 + 1}, '"ranks": expected a whole number'),
        ({"ranks": 2**64}, '"ranks": expected a whole number'),
        ({"ranks": 1.5}, "got 1.5"),
        ({"stack_size_bytes": 0}, '"stack_size_bytes": expected a whole number from 65536'),
        ({"stack_size_bytes": -1}, "got -1"),
        ({"stack_size_bytes": 1 << 63}, f"got {1 << 63}"),
        ({"ranks": 1 << 20, "stack_size_bytes": 1 << 30}, "do not fit the address space"),
        ({"seed": -1}, '"seed": expected a whole number from 0'),
        ({"compute": {"mode": "fixed", "fixed_ps": -1}}, '"fixed_ps": expected a whole number'),
        ({"compute": {"mode": "fixed", "fixed_ps": 1 << 62}}, '"fixed_ps"'),
    ],
)
def test_the_simulator_refuses_it_in_a_scenario(tmp_path, change, words):
    scenario = {
        "program": "/bin/true",
        "ranks": 2,
        "machine": str(find_machine("paragon").resolve()),
        "output_directory": str(tmp_path),
    }
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps({**scenario, **change}))
    run = subprocess.run(
        [find_host("mpich"), file], capture_output=True, text=True, check=False, timeout=60
    )
    assert run.returncode == 2
    assert f"{file}: " in run.stderr
    assert words in run.stderr
