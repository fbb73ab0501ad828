"""How a disk or an application is used: sizes, order, positions and times of its requests.

docs/models/characterize.md defines every figure and gives its source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesame.lazy import names_of

if TYPE_CHECKING:
    from sesame.analysis.characterize.compare import Comparison, NamedProfile
    from sesame.analysis.characterize.limits import Limits
    from sesame.analysis.characterize.profile import Profile, characterize
    from sesame.analysis.characterize.source import Source, busiest, open_source
else:
    __getattr__ = names_of(__name__)

__all__ = [
    "Comparison",
    "Limits",
    "NamedProfile",
    "Profile",
    "Source",
    "busiest",
    "characterize",
    "open_source",
]
