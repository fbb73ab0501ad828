"""From which ranks receives from any source get their messages, as an earlier run has it
(docs/models/parallel.md)."""

from __future__ import annotations

from pathlib import Path

from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.settings import setting

NAMES = ("any", "members", "tags")  # otherwise the data set of an earlier run
EXPECTED = "expected"  # that of a data set, in a scenario
COLLECTIVE = 2  # flag of a message, core/trace/record.h
COLUMNS = ["destination", "context", "tag", "source", "arrival_ps", "flags", "protocol"]
RECEIVED = ("eager", "rendezvous")  # protocols of messages that a receive takes


def parse_sources(text: str) -> tuple[str, Path | None]:
    """The kind for `Scenario.sources`, and the data set. Raises InputError."""
    if text in NAMES:
        return text, None
    if not Path(text).is_dir():
        raise InputError(
            f"{setting('sources', text)}: expected {', '.join(NAMES)} or the data set of an "
            "earlier run"
        )
    return EXPECTED, Path(text)


def write_expected(earlier: Path, ranks: int, path: Path) -> None:
    """Writes in which order messages of the same tag came to each rank (docs/formats/scenario.md).
    Raises InputError for a data set that does not have that."""
    import numpy as np

    data_set = DataSet(earlier)
    if data_set.info.get("ranks", 0) != ranks:
        raise InputError(
            f"{setting('sources', earlier)}: it has {data_set.info.get('ranks', 0)} ranks, this "
            f"run has {ranks}",
            hint="simulate the same program with the same number of ranks",
        )
    if "message" not in data_set.tables or "arrival_ps" not in data_set.schema("message").names:
        raise InputError(
            f"{setting('sources', earlier)}: it has no records of simulated messages",
            hint="write them with `sesame simulate -o NAME.sesame`",
        )
    table = data_set.table("message", COLUMNS)
    columns = {name: table.column(name).to_numpy() for name in COLUMNS}
    by_receive = np.isin(columns["protocol"].astype(str), RECEIVED)
    is_received = (columns["flags"] & COLLECTIVE == 0) & by_receive
    names = ("source", "arrival_ps", "tag", "context", "destination")
    source, arrival, tag, context, destination = (columns[name][is_received] for name in names)
    order = np.lexsort((source, arrival, tag, context, destination))
    runs = np.stack([destination, context, tag, source]).astype(np.int32)[:, order].T
    is_first = np.ones(len(runs), dtype=bool)
    is_first[1:] = (runs[1:] != runs[:-1]).any(axis=1)
    firsts = np.flatnonzero(is_first)
    counts = np.diff(np.append(firsts, len(runs)))
    np.column_stack([runs[firsts], counts]).astype("<i4").tofile(path)
