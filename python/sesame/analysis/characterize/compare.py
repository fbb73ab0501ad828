"""Compares recordings: of the idle system, of each application alone, of all together."""

from __future__ import annotations

from dataclasses import dataclass

from sesame.analysis.characterize.profile import READS, WRITES, Profile


@dataclass(frozen=True)
class NamedProfile:
    """One run of the comparison."""

    name: str
    profile: Profile

    @property
    def share_of_reads(self) -> float:
        return float(self.profile.requests[READS]) / self.profile.total


@dataclass(frozen=True)
class Comparison:
    """The profiles of one disk, or of applications."""

    baseline: NamedProfile | None  # of the idle system
    applications: list[NamedProfile]  # each alone
    combined: NamedProfile | None  # of all applications at once

    @property
    def profiles(self) -> list[NamedProfile]:
        ends = ([self.baseline] if self.baseline else [], [self.combined] if self.combined else [])
        return [*ends[0], *self.applications, *ends[1]]

    def of_the_system(self, part: NamedProfile, kind: int | slice = slice(None)) -> float:
        """The requests that the idle system would have made in the time of a run."""
        if self.baseline is None:
            return 0.0
        base = self.baseline.profile
        per_second = float(base.requests[kind].sum()) / base.span_s if base.span_s else 0.0
        return per_second * part.profile.span_s

    def contribution(self, part: NamedProfile, kind: int | slice = slice(None)) -> float:
        """The requests of a run beyond those of the idle system; 0 if there are fewer."""
        return max(float(part.profile.requests[kind].sum()) - self.of_the_system(part, kind), 0.0)

    def shares(self) -> dict[str, float]:
        """The share of each application in the requests that all of them add, each alone."""
        added = {part.name: self.contribution(part) for part in self.applications}
        total = sum(added.values())
        return {name: value / total if total else 0.0 for name, value in added.items()}

    @property
    def expected(self) -> float | None:
        """The requests of the combined run, if applications together did what each does alone."""
        if self.combined is None:
            return None
        return self.of_the_system(self.combined) + sum(map(self.contribution, self.applications))

    def rows(self) -> list[dict[str, float | str]]:
        """Table 1 of the study (docs/models/characterize.md), and what each run adds."""
        shares = self.shares()
        return [
            {
                "run": part.name,
                "reads": part.share_of_reads,
                "writes": float(part.profile.requests[WRITES]) / part.profile.total,
                "requests_per_s": part.profile.rate,
                "requests": part.profile.total,
                "duration_s": part.profile.span_s,
                "of_the_system": self.of_the_system(part),
                "added": 0.0 if part is self.baseline else self.contribution(part),
                "share_of_added": shares.get(part.name, float("nan")),
            }
            for part in self.profiles
        ]
