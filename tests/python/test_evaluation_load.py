"""How busy the machine was while a probe ran."""

from __future__ import annotations

import pytest

from sesame.evaluation import load, measures
from sesame.evaluation.load import Load, LoadMeter


def test_the_load_is_unknown_where_proc_does_not_say_it(monkeypatch):
    """As under systemd's ProcSubset=pid: no probe may end for that."""
    monkeypatch.setattr(measures, "_lines", lambda path: [])
    monkeypatch.setattr(load.os, "getloadavg", lambda: (1.5, 0.0, 0.0))
    assert LoadMeter().load() == Load(1.5)

    def fail() -> None:
        raise OSError

    monkeypatch.setattr(load.os, "getloadavg", fail)
    assert LoadMeter().load() is None


@pytest.mark.parametrize(("user", "share"), [(0, 0.0), (60, 0.5), (240, 1.0)])
def test_what_others_did_is_a_share_of_all_processors(user, share, monkeypatch):
    """120 hundredths of a second passed: `user` of them at work, none of them for the probe."""
    readings = iter([[0] * 8, [user, 0, 0, max(120 - user, 0), 0, 0, 0, 0]])
    monkeypatch.setattr(load, "ticks", lambda: next(readings))
    monkeypatch.setattr(load, "_own", lambda: 0.0)
    assert LoadMeter().load().others == pytest.approx(share)
