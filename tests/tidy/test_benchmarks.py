"""`make bench` runs each benchmark once."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_each_benchmark_is_run_once():
    recipe = subprocess.run(
        ["make", "--dry-run", "--always-make", "bench"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert re.findall(r"bench/\S+", recipe) == ["bench/run.py"]
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        import run
    finally:
        sys.path.pop(0)
    names = [path.name for path in run.programs()]
    shared = {path.name for path in (ROOT / "bench").glob("*.py")} - set(names)
    assert len(set(names)) == len(names) and "message_rate.py" in names
    assert shared == {"fio_replay.py", "run.py", "runs.py", "targets.py"}
    # A benchmark that runs another one would have it run twice.
    for path in run.programs():
        called = re.findall(r"[\"'/](\w+\.py)\b", path.read_text(encoding="utf-8"))
        assert not set(called) & set(names) - {path.name}, path
