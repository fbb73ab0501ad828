"""The limits between classes of requests. Options show them, so this loads nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sesame.analysis.characterize.locality import Ints


@dataclass(frozen=True)
class Limits:
    """The borders of classes and the size of bands. Defaults: the band of the study, and the page
    and read-ahead of today's Linux."""

    page_bytes: int = 4096
    large_bytes: int = 128 << 10
    band_sectors: int = 100_000

    def classes(self, size: Ints) -> Ints:
        """The class of each size (B), as an index in profile.CLASS_NAMES. Small: less than a page;
        page: just that; large: from `large_bytes` on; medium: between."""
        import numpy as np

        page, large = self.page_bytes, self.large_bytes
        return np.digitize(size, [page, page + 1, large]).astype(np.int64)
