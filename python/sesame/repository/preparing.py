"""What is made of a data set when it is imported, so that pages are quick.

Each function takes the data set's path and a directory of its own, with its name, below `derived`.
They run in a process that imports: `python -m sesame.repository.preparing DATA_SET DERIVED`.
"""

from __future__ import annotations

import pkgutil
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from sesame.errors import SesameError

PREPARATIONS = {
    "summary": "sesame.repository.summary:prepare",
    "playback": "sesame.repository.playback.prepare:prepare",
    "looks": "sesame.repository.looks.prepare:prepare",
    "search": "sesame.repository.search.entries:prepare",
}


def prepare(data_set: Path, derived: Path) -> list[str]:
    """Makes what is missing below `derived`; returns what went wrong, a sentence for each part that
    has nothing now. A part appears when it is complete."""
    wrong = []
    for name, place in PREPARATIONS.items():
        target, partial = derived / name, derived / f".{name}.partial"
        if target.exists() or not find_spec(place.rpartition(".")[0]):
            continue
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        try:
            pkgutil.resolve_name(place)(data_set, partial)
        except Exception as error:  # the content may be anything; the other parts still fit
            text = error.message if isinstance(error, SesameError) else repr(error)
            wrong.append(f"{name}: {text}")
            shutil.rmtree(partial)
        else:
            partial.replace(target)
    return wrong


if __name__ == "__main__":
    for line in prepare(Path(sys.argv[1]), Path(sys.argv[2])):
        print(line, file=sys.stderr)
