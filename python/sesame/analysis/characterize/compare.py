"""Runs beside each other: nothing but the system, each application alone, all together."""

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
    baseline: NamedProfile | None
    applications: list[NamedProfile]
    combined: NamedProfile | None

    @property
    def profiles(self) -> list[NamedProfile]:
        ends = ([self.baseline] if self.baseline else [], [self.combined] if self.combined else [])
        return [*ends[0], *self.applications, *ends[1]]

    def of_the_system(self, part: NamedProfile, kind: int | slice = slice(None)) -> float:
        """Requests that the system alone would have made in the time of a run."""
        if self.baseline is None:
            return 0.0
        base = self.baseline.profile
        there = float(base.requests[kind].sum()) / base.span_s if base.span_s else 0.0
        return there * part.profile.span_s

    def contribution(self, part: NamedProfile, kind: int | slice = slice(None)) -> float:
        """Requests of a run beyond those of the system alone; none if there are fewer."""
        return max(float(part.profile.requests[kind].sum()) - self.of_the_system(part, kind), 0.0)

    def shares(self) -> dict[str, float]:
        """Of the requests that the applications add, each alone."""
        added = {part.name: self.contribution(part) for part in self.applications}
        total = sum(added.values())
        return {name: value / total if total else 0.0 for name, value in added.items()}

    @property
    def expected(self) -> float | None:
        """Requests of the combined run if applications did together what each does alone."""
        if self.combined is None:
            return None
        return self.of_the_system(self.combined) + sum(map(self.contribution, self.applications))

    def rows(self) -> list[dict[str, float | str]]:
        """The study's Table 1, and what each run adds to the system."""
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
