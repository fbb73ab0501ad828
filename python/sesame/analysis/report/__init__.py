"""Reports of runs: one page of HTML that needs nothing else and no network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesame.lazy import names_of

if TYPE_CHECKING:
    from sesame.analysis.report.simulated import write_sweep_report
else:
    __getattr__ = names_of(__name__)

__all__ = ["write_sweep_report"]
