"""Requests that go back and forth in a file."""

from __future__ import annotations

from sesame.analysis.findings_io.found import ENOUGH_REQUESTS, Evidence, Finding, percent

RANDOM_SHARE = 0.2  # of the requests; Drishti


def random_access(e: Evidence) -> list[Finding]:
    found = []
    rows = e.requests_below
    for word in ("read", "write"):
        random, requests = rows.sum(f"{word}_random"), rows.sum(f"{word}s")
        if random < ENOUGH_REQUESTS or random <= RANDOM_SHARE * requests:
            continue
        counted = rows.where(rows["counted"]).sum(f"{word}_random") > 0
        irregular = "" if counted else " and at no regular distance"
        found.append(
            Finding(
                "random access",
                f"{percent(random / requests)} of the {requests:,.0f} {word}s begin before the "
                f"end of the one before{irregular}, "
                f"{e.mainly(rows.by_file(word + '_random'))}.",
                "Sort requests by offset before they are issued; read a region once and look up "
                "in memory; a data set that fits should be read whole."
                if word == "read"
                else "Write in the order of the file, or gather and sort in memory first.",
                rows.sum(f"{word}_s") * random / requests,
                {"random": random, f"{word}s": requests},
            )
        )
    return found
