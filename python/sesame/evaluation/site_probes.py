"""The tables [probe.NAME] of a site file, and their steps."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sesame.evaluation.benchmarks import (
    bench_steps,
    is_local,
    local_bench,
    measure_command,
    sesamed_command,
    workload_names,
)
from sesame.evaluation.measures import MEASURES
from sesame.evaluation.site import ASPECTS, UNITS, Number, Probe, Step, Target
from sesame.evaluation.site_tables import Keys, Tables

FORMATS = ("junit", "tap", "reframe", "figures")
KINDS = ("command", "shell", "bench", "measure", "boot", "sesamed")  # a step is one of them
OF_BENCH = ("options", "ranks", "twice")
OF_SESAMED = ("token_file", "ca")
JUDGED = ("launch", "exit_status", "pattern", "numbers", "reads", "file")


class ProbeTables(Tables):
    """Turns the tables into probes. A probe with several targets becomes one for each."""

    def probes(self, table: dict[str, Any], targets: Mapping[str, Target]) -> dict[str, Probe]:
        found: dict[str, Probe] = {}
        for name, one in self.named(table, "probe"):
            for probe in self._probe(name, one, targets):
                if probe.name in found:
                    said = f"there are two probes of the name {probe.name}"
                    raise self.wrong(("probe", name), said)
                found[probe.name] = probe
        return {
            name: replace(probe, needs=self._resolved(probe, found))
            for name, probe in found.items()
        }

    def _resolved(self, probe: Probe, probes: Mapping[str, Probe]) -> tuple[str, ...]:
        """Names of probes; of one with several targets that of the same target. No circles."""
        names = []
        for need in probe.needs:
            same = f"{need}-{probe.target.name}"
            name = need if need in probes else same
            if name not in probes:
                raise self.wrong(("probe", probe.name, "needs"), f"there is no probe {need}")
            names.append(name)
        waiting, seen = list(names), set[str]()
        while waiting:
            name = waiting.pop()
            if name == probe.name:
                raise self.wrong(("probe", probe.name, "needs"), "it needs itself in the end")
            if name not in seen:
                seen.add(name)
                waiting += [need for need in probes[name].needs if need in probes]
        return tuple(names)

    def _probe(
        self, name: str, table: dict[str, Any], targets: Mapping[str, Target]
    ) -> list[Probe]:
        keys = ("probe", name)
        known = ("target", "targets", "interval", "availability", "aspect", "user", "needs")
        self.check_keys(table, keys, (*known, "files", "step"))
        if "target" in table and "targets" in table:
            raise self.wrong(keys, "a probe has either a `target` or `targets`")
        several = "targets" in table
        chosen = self.words(table, keys, "targets") if several else ()
        chosen = chosen or (self.text(table, keys, "target"),)
        for one in chosen:
            if one not in targets:
                key = "targets" if several else "target"
                raise self.wrong((*keys, key), f"there is no [target.{one}]")
        files = table.get("files", {})
        if not isinstance(files, dict) or not all(isinstance(one, str) for one in files.values()):
            raise self.wrong((*keys, "files"), "expected names with the texts of files")
        for one in files:
            if "/" in one or one in ("", ".", ".."):
                raise self.wrong((*keys, "files"), f"{one!r} is no name of a file")
        steps = table.get("step")
        if not isinstance(steps, list) or not steps:
            raise self.wrong(keys, f"there is no [[probe.{name}.step]]")
        return [
            self._on_target(f"{name}-{one}" if several else name, keys, table, steps, targets[one])
            for one in chosen
        ]

    def _on_target(
        self, name: str, keys: Keys, table: dict[str, Any], entries: list[Any], target: Target
    ) -> Probe:
        steps = tuple(
            step
            for number, entry in enumerate(entries)
            for step in self._steps((*keys, "step", str(number)), entry, target)
        )
        availability = self.yes_or_no(table, keys, "availability")
        return Probe(
            name,
            target,
            self.duration(table, keys, "interval"),
            availability,
            self._aspect(table, keys, availability, steps),
            self.text(table, keys, "user", "") or None,
            table.get("files", {}),
            steps,
            self.words(table, keys, "needs", ()),
        )

    def _aspect(
        self, table: dict[str, Any], keys: Keys, availability: bool, steps: tuple[Step, ...]
    ) -> str:
        if "aspect" in table:
            return self.one_of(table, keys, "aspect", ASPECTS)
        if availability:
            return "availability"
        measures = any(step.numbers or step.reads == "figures" for step in steps)
        return "performance" if measures else "functionality"

    def _steps(self, keys: Keys, table: Any, target: Target) -> list[Step]:
        known = ("name", "timeout", *KINDS, *OF_BENCH, *OF_SESAMED, *JUDGED)
        self.check_keys(table, keys, known)
        if sum(kind in table for kind in KINDS) != 1:
            listed = (
                "`command` (a list), `shell` (a text), `bench`, `measure`, `boot` and `sesamed`"
            )
            raise self.wrong(keys, f"a step has one of {listed}")
        if "bench" in table:
            return self._bench(keys, table, target)
        for key in OF_BENCH:
            if key in table:
                raise self.wrong((*keys, key), f"only a step with `bench` has `{key}`")
        if "sesamed" in table:
            return [self._sesamed(keys, table)]
        for key in OF_SESAMED:
            if key in table:
                raise self.wrong((*keys, key), f"only a step with `sesamed` has `{key}`")
        if "measure" in table:
            return [self._measure(keys, table)]
        return [self._boot(keys, table) if "boot" in table else self._command(keys, table)]

    def _command(self, keys: Keys, table: dict[str, Any]) -> Step:
        if "shell" in table:
            command: tuple[str, ...] = ("/bin/sh", "-c", self.text(table, keys, "shell"))
        else:
            command = self.words(table, keys, "command")
        numbers = table.get("numbers", [])
        if not isinstance(numbers, list):
            raise self.wrong((*keys, "numbers"), "expected a list of tables")
        reads = self.one_of(table, keys, "reads", FORMATS) if "reads" in table else ""
        if "file" in table and not reads:
            raise self.wrong((*keys, "file"), "only a step with `reads` has a `file`")
        return Step(
            self.text(table, keys, "name", command[0]),
            command,
            self.duration(table, keys, "timeout"),
            self.yes_or_no(table, keys, "launch"),
            # A suite that finds a fault ends with a status of its own choice.
            self.whole(table, keys, "exit_status", 0, least=0)
            if "exit_status" in table or reads in ("", "figures")
            else None,
            self.pattern(table, keys, "pattern") if table.get("pattern") else None,
            tuple(self._number((*keys, "numbers"), one) for one in numbers),
            reads=reads,
            file=self.text(table, keys, "file", ""),
        )

    def _bench(self, keys: Keys, table: dict[str, Any], target: Target) -> list[Step]:
        for key in JUDGED:
            if key in table:
                raise self.wrong((*keys, key), f"a step with `bench` has no `{key}`")
        name = self.text(table, keys, "bench")
        known = workload_names()
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else "`sesame bench list` names them"
            raise self.wrong((*keys, "bench"), f"there is no workload {name}", hint)
        ranks = self.whole(table, keys, "ranks", target.ranks, least=1)
        options = self.words(table, keys, "options", ())
        timeout = self.duration(table, keys, "timeout")
        if target.quotes:
            said = "a workload cannot be started by ssh; give a command that is on the host"
            raise self.wrong((*keys, "bench"), said)
        twice = self.yes_or_no(table, keys, "twice")
        if twice and not is_local(target):
            raise self.wrong((*keys, "twice"), "only a target on this machine can")
        shown = self.text(table, keys, "name", name)
        prefix = f"{shown}: " if "name" in table else ""
        if twice:
            return [local_bench(shown, name, ranks, options, timeout, twice=True, prefix=prefix)]
        return bench_steps(shown, name, ranks, options, timeout, target, prefix=prefix)

    def _measure(self, keys: Keys, table: dict[str, Any]) -> Step:
        for key in JUDGED:
            if key in table:
                raise self.wrong((*keys, key), f"a step with `measure` has no `{key}`")
        name = self.one_of(table, keys, "measure", tuple(MEASURES))
        shown = self.text(table, keys, "name", name)
        timeout = self.duration(table, keys, "timeout", "1min")
        return Step(shown, measure_command(name), timeout, False, 0, reads="figures")

    def _boot(self, keys: Keys, table: dict[str, Any]) -> Step:
        if table["boot"] is not True:
            raise self.wrong((*keys, "boot"), "expected true")
        self.check_keys(table, keys, ("boot", "name", "timeout", "launch"))
        command = ("cat", "/proc/sys/kernel/random/boot_id", "/proc/stat")
        timeout = self.duration(table, keys, "timeout", "1min")
        shown = self.text(table, keys, "name", "boot")
        launch = self.yes_or_no({"launch": True, **table}, keys, "launch")
        return Step(shown, command, timeout, launch, 0, boot=True)

    def _sesamed(self, keys: Keys, table: dict[str, Any]) -> Step:
        self.check_keys(table, keys, ("sesamed", "name", "timeout", *OF_SESAMED))
        address = self.text(table, keys, "sesamed")
        command = sesamed_command(
            address, self.text(table, keys, "token_file"), self.text(table, keys, "ca", "")
        )
        shown = self.text(table, keys, "name", f"sesamed of {address}")
        timeout = self.duration(table, keys, "timeout", "1min")
        return Step(shown, command, timeout, False, 0, reads="figures", boot=True)

    def _number(self, keys: Keys, table: Any) -> Number:
        self.check_keys(table, keys, ("name", "pattern", "unit"))
        unit = self.text(table, keys, "unit")
        if unit not in UNITS:
            expected = ", ".join(sorted(UNITS))
            raise self.wrong(keys, f"unknown unit {unit!r}, expected one of {expected}")
        pattern = self.pattern(table, keys, "pattern", group=True)
        return Number(self.text(table, keys, "name"), pattern, unit)
