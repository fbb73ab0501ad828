"""The commands of the tutorials, as a reader types them."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
FENCE = re.compile(r"^```([a-z]*)\n(.*?)^```", re.M | re.S)


def commands_of(page: str) -> list[str]:
    """The lines of a page's blocks that are in no language, from top to bottom."""
    text = (DOCS / page).read_text()
    return [line for name, block in FENCE.findall(text) if not name for line in block.splitlines()]
