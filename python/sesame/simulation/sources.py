"""From which ranks receives from any source get their messages, as an earlier run has it
(docs/models/parallel.md)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.settings import setting

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

NAMES = ("any", "members", "tags")  # otherwise the data set of an earlier run
EXPECTED = "expected"  # that of a data set, in a scenario
COLLECTIVE = 2  # flag of a message, core/trace/record.h
KEY = ("destination", "context", "tag")
COLUMNS = [*KEY, "source", "send_ps", "arrival_ps", "flags", "protocol"]
EAGER, RENDEZVOUS = "eager", "rendezvous"  # protocols of messages that a receive takes


def parse_sources(given: object) -> tuple[str, Path | None]:
    """The kind for `Scenario.sources`, and the data set. Raises InputError."""
    expected = f"expected {', '.join(NAMES)} or the data set of an earlier run"
    if not isinstance(given, str | os.PathLike):
        raise InputError(f"sources: {expected}, got {given!r}")
    text = os.fspath(given)
    if text in NAMES:
        return text, None
    if not Path(text).is_dir():
        raise InputError(f"{setting('sources', text)}: {expected}")
    return EXPECTED, Path(text)


def other_ranks(earlier: str | os.PathLike[str], has: int, asked: int) -> InputError:
    return InputError(
        f"{setting('sources', os.fspath(earlier))}: it has {has} ranks, this run has {asked}",
        hint="simulate the same program with the same number of ranks",
    )


def write_expected(earlier: Path, ranks: int, path: Path) -> None:
    """Writes in which order messages of the same tag came to each rank (docs/formats/scenario.md).
    Raises InputError for a data set that does not have that."""
    data_set = DataSet(earlier)
    if "message" not in data_set.tables or "arrival_ps" not in data_set.schema("message").names:
        raise InputError(
            f"{setting('sources', earlier)}: it has no records of simulated messages",
            hint="write them with `sesame simulate -o NAME.sesame`",
        )
    started = int(data_set.info.get("scenario", {}).get("ranks", 0))  # without spawned ones
    if started != ranks:
        raise other_ranks(earlier, started, ranks)
    runs_in_order(data_set.table("message", COLUMNS), ranks).astype("<i4").tofile(path)


def runs_in_order(messages: pa.Table, ranks: int) -> NDArray[np.int64]:
    """Runs of messages of one source that follow each other, a row each: KEY, source, count, and
    whether it is tied with the run before.

    Receives match in the order in which messages become known: the data of an eager message at its
    arrival, the request to send of a rendezvous at a time between its call and its arrival, which
    is not recorded. Messages whose times may be equal or in another order are tied.
    """
    import numpy as np
    import pyarrow.compute as pc

    messages = messages.filter(pc.is_in(messages["protocol"], _texts(EAGER, RENDEZVOUS)))
    is_rendezvous = pc.is_in(messages["protocol"], _texts(RENDEZVOUS)).to_numpy()
    columns = {name: messages[name].to_numpy() for name in COLUMNS if name != "protocol"}
    is_of_receive = columns["flags"] & COLLECTIVE == 0
    is_of_receive &= (columns["destination"] < ranks) & (columns["source"] < ranks)  # not spawned
    earliest = np.where(is_rendezvous, columns["send_ps"], columns["arrival_ps"])[is_of_receive]
    latest = columns["arrival_ps"][is_of_receive]
    key = np.stack([columns[name][is_of_receive].astype(np.int64) for name in KEY])
    source = columns["source"][is_of_receive].astype(np.int64)

    order = np.lexsort((earliest, *key[::-1]))
    key, source = key[:, order], source[order]
    flow = np.cumsum(_changes(key), dtype=np.int64)
    is_later = _changes(flow) | _begins_later(flow, earliest[order], latest[order])
    group = np.cumsum(is_later, dtype=np.int64)

    order = np.lexsort((source, group))  # groups stay in their order
    key, source, flow, group = key[:, order], source[order], flow[order], group[order]
    run = np.flatnonzero(_changes(np.stack([group, source])))
    is_tied = ~_changes(group[run])
    is_alone = ~is_tied & ~np.append(is_tied[1:], False)
    is_first = _changes(np.stack([flow[run], source[run]])) | ~is_alone
    is_first[1:] |= ~is_alone[:-1]
    run, is_tied = run[is_first], is_tied[is_first]
    counts = np.diff(np.append(run, len(source)))
    return np.column_stack([*key[:, run], source[run], counts, is_tied])


def _texts(*values: str) -> pa.Array:
    import pyarrow as pa

    return pa.array(values, pa.string())


def _changes(rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where the values of the rows, of the one row, are others than before; true for the first."""
    import numpy as np

    rows = np.atleast_2d(rows)
    changes = np.ones(rows.shape[1], dtype=bool)
    changes[1:] = (rows[:, 1:] != rows[:, :-1]).any(axis=0)
    return changes


def _begins_later(
    flow: NDArray[np.int64], earliest: NDArray[np.int64], latest: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether each message comes later than all those before it in its flow."""
    import numpy as np

    by_time = np.argsort(latest, kind="stable")
    place = np.empty_like(by_time)
    place[by_time] = np.arange(len(by_time))
    # The greatest place in the flow so far: places of later flows are greater.
    greatest = np.maximum.accumulate(flow * len(flow) + place) - flow * len(flow)
    begins = np.ones(len(flow), dtype=bool)
    begins[1:] = earliest[1:] > latest[by_time[greatest[:-1]]]
    return begins
