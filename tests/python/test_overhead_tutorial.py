"""The commands of the tutorial, as a reader types them."""

from __future__ import annotations

import shlex

import numpy as np
import pytest
from test_overhead_characterize import NEW, application_and_daemon
from test_overhead_validation import made_run
from tests.tutorials import commands_of

from sesame.overhead.daemon_runs import append_run

pytest.importorskip("scipy")


@pytest.mark.long
def test_the_tutorial_runs(sesame, tmp_path):
    lines, lengths = application_and_daemon(NEW)
    (tmp_path / "trace.txt").write_text("\n".join(lines))
    rows = [f"solver,cpu,{length:.9f}" for length in np.asarray(lengths)]
    (tmp_path / "lengths.csv").write_text("\n".join(["class,quantity,seconds", *rows]))
    for batch in (1, 6):
        append_run(tmp_path / "runs.csv", made_run(0.1, batch))
    commands = commands_of("tutorial-overhead.md")
    assert len(commands) > 8
    for line in commands:
        words = shlex.split(line)
        assert words.pop(0) == "sesame"
        outcome = sesame(*words)
        assert outcome.status == 0, f"{line}\n{outcome.stdout}{outcome.stderr}"
    assert "<figure" in (tmp_path / "page.html").read_text()
    assert "Q-Q plot" in (tmp_path / "fits.html").read_text()
