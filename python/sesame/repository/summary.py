"""What the home page of a data set says about its content, made when it is imported: the findings,
the analyses that fit, and the report."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from sesame.analysis.reports import sentences_of, write_page
from sesame.analysis.views import views_of
from sesame.datasets import DataSet
from sesame.errors import SesameError

NAME = "summary"  # its directory below `Repository.derived`
# Reports read whole tables; beyond this an import would take minutes and gigabytes.
MOST_ROWS = 20_000_000


def prepare(data_set_path: Path, out: Path) -> None:
    """Writes `summary.json` and, where its kind has one, `report.html`."""
    data_set = DataSet(data_set_path)
    found: dict[str, Any] = {"findings": [], "views": [], "has_report": False, "why_not": ""}
    rows = sum(one.get("rows", 0) for one in data_set.record_types.values())
    if rows > MOST_ROWS:
        found["why_not"] = f"it has {rows:,} records, and reports are made up to {MOST_ROWS:,}"
    else:
        _study(data_set, out, found)
    (out / "summary.json").write_text(json.dumps(found), encoding="utf-8")


def _study(data_set: DataSet, out: Path, found: dict[str, Any]) -> None:
    try:
        found["findings"] = sentences_of(data_set)
        found["views"] = [
            {"name": one.name, "about": one.about, "needs": list(one.needs)}
            for one in views_of(data_set)
        ]
        write_page(data_set, out / "report.html")
        found["has_report"] = True
    except SesameError as error:
        # Not the path: it is one of the server's.
        path = re.escape(str(getattr(error, "path", None) or data_set.path))
        found["why_not"] = re.sub(rf"^{path}(:\d+)?: ", "", error.message)
    except Exception as error:  # an info.json of elsewhere may lack what its kind should have
        found["why_not"] = f"its content is not as expected ({error!r})"[:300]


def read_summary(derived: Path) -> dict[str, Any] | None:
    """What `prepare` found; None while it has not run."""
    file = derived / NAME / "summary.json"
    if not file.is_file():
        return None
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def report_file(derived: Path) -> Path | None:
    file = derived / NAME / "report.html"
    return file if file.is_file() else None
