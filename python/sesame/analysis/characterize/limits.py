"""The limits between classes of requests. Options show them, so this loads nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sesame.analysis.characterize.locality import Ints


@dataclass(frozen=True)
class Limits:
    """Where classes and bands begin; the study's values, with today's page and read-ahead."""

    page_bytes: int = 4096
    large_bytes: int = 128 << 10
    band_sectors: int = 100_000

    def classes(self, size: Ints) -> Ints:
        """small: below a page; page: one page; medium; large: from `large_bytes` on."""
        import numpy as np

        page, large = self.page_bytes, self.large_bytes
        return np.digitize(size, [page, page + 1, large]).astype(np.int64)
