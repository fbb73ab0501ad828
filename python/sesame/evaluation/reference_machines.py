"""Times of the NAS Parallel Benchmarks on the machines of the Paragon report."""

from __future__ import annotations

# B. Traversat, D. McNab, B. Nitzberg, S. Fineberg: Evaluation Metrics for the Paragon XP/S-15, NASA
# RND-93-017, 1993, table 9: seconds on 128 nodes of a Paragon (release T10), and its speed over
# that of 128 nodes of an iPSC/860 and over that of one processor of a Cray Y-MP. Class A.
TABLE_9 = {
    "ep": (19.72, 1.30, 6.40),
    "mg": (6.52, 1.32, 3.41),
    "ft": (6.36, 1.52, 3.88),
    "cg": (6.75, 1.27, 1.76),
    "is": (13.50, 1.01, 0.85),
    "sp": (281.27, 1.59, 1.67),
    "bt": (266.58, 1.56, 2.97),
    "lu": (442.00, 1.01, 0.73),
}
CLASS = "A"
NAMES = ("Paragon, 128 nodes", "iPSC/860, 128 nodes", "Y-MP, 1 processor")


def reference_times(code: str) -> dict[str, float]:
    """Seconds of a code in class A on each machine; empty for other workloads."""
    if code not in TABLE_9:
        return {}
    paragon, over_ipsc, over_ymp = TABLE_9[code]
    times = (paragon, paragon * over_ipsc, paragon * over_ymp)
    return dict(zip(NAMES, times, strict=True))
