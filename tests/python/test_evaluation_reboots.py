"""Whose reboots a machine's boots are."""

from __future__ import annotations

from sesame.evaluation import runner
from sesame.evaluation.periods import moment
from sesame.evaluation.probing import Outcome, Result
from sesame.evaluation.runner import run_due
from sesame.evaluation.site import read_site
from sesame.evaluation.store import Store
from sesame.evaluation.summary import summarize

HOUR = 3600.0
BEGIN = moment("2026-05", "")
PROBE = """
[probe.{name}]
target = "{name}"
interval = "1h"
availability = true
[[probe.{name}.step]]
command = ["true"]
timeout = "1min"
"""
BOOTS = """\
[target.here]
[target.ranks]
launcher = "mpiexec"
[target.n17]
launcher = "ssh"
host = "n17"
[target.queue]
launcher = "slurm"
"""


def test_a_reboot_counts_for_the_targets_on_that_machine_and_once(tmp_path):
    """The prober booted again, which both its own list and a step `boot` of `here` saw. Of n17 one
    boot is known; then it boots again, too."""
    names = ("here", "ranks", "n17", "queue")
    text = BOOTS + "".join(PROBE.format(name=name) for name in names)
    (tmp_path / "s.toml").write_text(text)
    site = read_site(tmp_path / "s.toml")
    with Store(site.database) as store:
        for name in names:
            for hour in range(24):
                about = (f"{name} {hour}", name, name, BEGIN + hour * HOUR, 1.0)
                store.add([Result(*about, Outcome.PASS)])
        for boot, at in (("a", -5.0), ("b", 3.5)):
            store.add_boot(boot, BEGIN + at * HOUR)
            store.add_boot(boot, BEGIN + at * HOUR + 1, "here", "here")
        store.add_boot("c", BEGIN - 9 * HOUR, "n17", "n17")

        def counts() -> dict[str, tuple[int, int]]:
            found = summarize(site, store, BEGIN, BEGIN + 24 * HOUR).targets
            return {one.target: (one.whole.reboots, one.whole.incidents) for one in found}

        assert counts() == {"here": (1, 1), "ranks": (1, 1), "n17": (0, 0), "queue": (0, 0)}
        store.add_boot("d", BEGIN + 7.5 * HOUR, "n17", "n17")
        assert counts() == {"here": (1, 1), "ranks": (1, 1), "n17": (1, 1), "queue": (0, 0)}


def test_a_boot_known_by_its_id_does_not_come_again_from_wtmp(tmp_path, monkeypatch):
    """Its machine booted twice; wtmp has no ids, and its times are some seconds later."""
    (tmp_path / "s.toml").write_text("[target.here]" + PROBE.format(name="here"))
    site = read_site(tmp_path / "s.toml")
    for boots in ([("a", 1e6)], [("wtmp 1000020", 1e6 + 20), ("b", 2e6)]):
        monkeypatch.setattr(runner, "boots_here", lambda boots=boots: boots)
        run_due(site, lambda _: None)
    with Store(site.database) as store:
        assert store.boots() == [2e6]
