"""How a disk or an application is really used: sizes, order, places and times of its requests.

docs/models/characterize.md has every figure's definition and where it comes from.
"""

from sesame.analysis.characterize.compare import Comparison, Part
from sesame.analysis.characterize.profile import Limits, Profile, characterize
from sesame.analysis.characterize.source import Source, busiest, open_source

__all__ = [
    "Comparison",
    "Limits",
    "Part",
    "Profile",
    "Source",
    "busiest",
    "characterize",
    "open_source",
]
