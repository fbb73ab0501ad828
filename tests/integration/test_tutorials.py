"""The tutorial of `sesame bench` as a reader types it, from top to bottom in one directory."""

from __future__ import annotations

import shlex
import shutil

import pytest
from tests.command_line import SESAME, run
from tests.tutorials import commands_of

from sesame.machines import find_machine


@pytest.mark.long
def test_the_tutorial_of_workloads_runs(cache, program, tmp_path):
    lines = commands_of("tutorial-bench.md")
    assert len(lines) > 6
    for line in lines:
        words = shlex.split(line)
        assert words.pop(0) == "sesame"
        if words[:2] == ["machine", "calibrate"]:
            # It takes a minute and has a test of its own; another model stands in.
            shutil.copy(find_machine("ethernet"), tmp_path / "here.toml")
            continue
        outcome = run([*SESAME, *words], tmp_path)
        assert outcome.status == 0, f"{line}\n{outcome.stdout}{outcome.stderr}"
        if "bench run" in line:
            assert "verified" in outcome.stdout + outcome.stderr, line
    assert (tmp_path / "iow.html").stat().st_size > 1000
    assert (tmp_path / "cg.sesame/info.json").is_file()
