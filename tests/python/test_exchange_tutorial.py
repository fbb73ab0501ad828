"""The tutorial of import and export as a reader types it, and what its page of formats claims."""

from __future__ import annotations

import shlex
import shutil

import pytest
from test_exchange_dftracer import GOLDEN
from test_exchange_otf2 import traced
from tests.python.ctf_writer import write_trace
from tests.python.darshan_writer import LogContents, Record, write_log
from tests.tutorials import DOCS, commands_of

from sesame.exchange import EXPORTS, IMPORTS, export_data_set


@pytest.mark.long
def test_the_tutorial_runs(sesame, tmp_path):
    counters = {"OPENS": 1, "WRITES": 10, "BYTES_WRITTEN": 520, "F_WRITE_TIME": 0.5}
    write_log(
        tmp_path / "job.darshan", LogContents(2, {1: "/a"}, [Record("POSIX", 1, 0, counters)])
    )
    shutil.copytree(GOLDEN, tmp_path / "dftracer-logs")
    export_data_set(traced(tmp_path / "source.sesame"), "otf2", tmp_path / "scorep-run")
    (tmp_path / "lttng-traces").mkdir()
    write_trace(tmp_path / "lttng-traces" / "session", "le")
    # What the kernel did takes root: tests/integration/test_measure.py.
    lines = [line for line in commands_of("tutorial-exchange.md") if "kernel.sesame" not in line]
    assert len(lines) > 8
    for line in lines:
        words = shlex.split(line)
        assert words.pop(0) == "sesame"
        outcome = sesame(*words)
        assert outcome.status == 0, f"{line}\n{outcome.stdout}{outcome.stderr}"
    for made in ("job.html", "run.json", "run-otf2/traces.otf2", "run-csv/io.csv", "run.sddf"):
        assert (tmp_path / made).stat().st_size > 50


def test_every_format_is_in_the_tutorial():
    text = (DOCS / "tutorial-exchange.md").read_text()
    for name in IMPORTS:
        assert f"`{name}`" in text or f"--from {name}`" in text, name
    for name in EXPORTS:
        assert f"| `{name}` |" in text, name
        assert f"--to {name} " in text, name
