"""Predicts how a parallel program behaves on a machine that you do not have yet.

    import sesame

    run = sesame.open("run.sesame")
    run.findings()
    run.sql("select * from io limit 5")

Names are loaded at their first use, so that `import sesame` is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sesame.analysis.views import add_view
    from sesame.api.data_set import DataSet, open
    from sesame.api.machine import Machine
    from sesame.api.real import measure, trace
    from sesame.api.replayed import replay
    from sesame.api.runs import series, simulate
    from sesame.api.series import Series
    from sesame.api.what_if import WhatIf, what_if
    from sesame.api.workloads import bench
    from sesame.comparison.baseline import check
    from sesame.comparison.difference import Difference, compare
    from sesame.errors import InputError, OutputError, SesameError

    __version__: str

__all__ = [
    "DataSet",
    "Difference",
    "InputError",
    "Machine",
    "OutputError",
    "Series",
    "SesameError",
    "WhatIf",
    "__version__",
    "add_view",
    "bench",
    "check",
    "compare",
    "measure",
    "open",
    "replay",
    "series",
    "simulate",
    "trace",
    "what_if",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        return _version()
    from sesame.lazy import names_of

    return names_of(__name__)(name)


def __dir__() -> list[str]:
    """The public names, for TAB and help: they are no globals until their first use."""
    return list(__all__)


def _version() -> str:
    """That in the name of the directory with the installed package's metadata. importlib.metadata
    would read these as an e-mail, for which it imports modules for a tenth of a short command."""
    import sys
    from pathlib import Path

    for directory in map(Path, sys.path):
        for found in directory.glob("sesame_hpc-*.dist-info"):
            return found.name.removeprefix("sesame_hpc-").removesuffix(".dist-info")
    return "0"  # run from a source tree that was never built
