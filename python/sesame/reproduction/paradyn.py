"""Tables and figures of the evaluation of Paradyn's instrumentation system, from the shipped node
model.

A. Waheed, D. T. Rover and J. K. Hollingsworth, Modeling, Evaluation, and Testing of Paradyn
Instrumentation System, Supercomputing 1996.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from sesame.reproduction.calculation import Calculation, Show
from sesame.reproduction.outcome import Diagram, Judgement, Outcome, Table

if TYPE_CHECKING:
    from sesame.overhead.experiments import Analysis
    from sesame.overhead.studies import Point, Run

PAPER = "Waheed, Rover and Hollingsworth (1996)"
MODEL = "paradyn"
REPLICATIONS, SECONDS, SEED = 50, 100.0, 1
FACTORS = (
    "sampling_period=5ms,50ms",
    "processes=1,32",
    "instrumentation_period=100s,10s",
    "policy=forward,batch",
)
# Table 3: processor time of the daemon (s) and samples/s, sampling period fastest, then number of
# processes, then instrumentation period; collect-and-forward, then batch-and-forward.
CPU = (4.5, 0.5, 13.2, 12.5, 6.2, 0.5, 18.2, 17.9, 2.2, 0.2, 7.5, 6.2, 2.0, 0.2, 12.2, 11.5)
THROUGHPUT = (
    *(164.5, 18.9, 5.8, 6.2, 153.2, 17.7, 4.0, 6.2),
    *(163.2, 19.2, 473.6, 412.8, 153.6, 16.0, 361.6, 374.4),
)
PAPERS = {"daemon_cpu": CPU, "throughput": THROUGHPUT}
NAMES = {"daemon_cpu": "daemon (s)", "throughput": "samples/s"}
COLLAPSE = (
    "the paper's daemon needs 20 to 45 ms for a sample that it forwards beside 32 processes, and "
    "0.27 ms beside one; neither its text nor its parameters say why"
)
# Table 1, microseconds: mean and standard deviation of measured processor and network requests, and
# the class and key of the shipped model.
TABLE_1 = (
    ("application, processor", 2213, 3034, "application", "cpu"),
    ("application, network", 223, 95, "application", "network"),
    ("PVM daemon, processor", 294, 206, "PVM daemon", "cpu"),
    ("PVM daemon, network", 58, 59, "PVM daemon", "network"),
    ("other processes, processor", 367, 819, "other processes: processor", "cpu"),
    ("other processes, network", 92, 80, "other processes: network", "network"),
    ("Paradyn daemon, network", 71, 109, "daemon", "network"),
    ("main process, processor", 3208, 3287, "main", "cpu"),
    ("main process, network", 214, 451, "main", "network"),
)
# Table 4: variation explained (%) for daemon and main process, by policy, period and both.
TABLE_4 = {"daemon_cpu": (47.6, 35.9, 16.5), "main_cpu": (52.9, 26.5, 20.7)}
PROCESSES = "processes=1..32"
PERIODS = "sampling_period=5ms,10ms,20ms,30ms,40ms,50ms"


def _run(replications: int) -> Run:
    from sesame.overhead.studies import Run

    return Run(SECONDS, replications, SEED)


def table_1(_show: Show) -> Outcome:
    """The moments of the distributions of table 2 beside those that were measured."""
    from sesame.overhead.model import read_model

    model = read_model(MODEL)
    places: dict[str, object] = {"daemon": model.daemon, "main": model.main}
    places |= {process.name: process for process in model.processes}
    rows = []
    errors = []
    for name, mean, deviation, place, key in TABLE_1:
        one = getattr(places[place], key)
        ours = one.mean * 1e6, one.standard_deviation * 1e6
        errors.append(abs(ours[0] / mean - 1))
        row = [name, mean, f"{ours[0]:.0f}", deviation, f"{ours[1]:.0f}", one.family]
        rows.append([str(cell) for cell in row])
    columns = ["request (µs)", "mean: measured", "model", "deviation: measured", "model", "family"]
    return Outcome(
        "paradyn-1",
        "Lengths of requests: measured, and as the model has them",
        f"{PAPER}, tables 1 and 2",
        [
            Judgement(
                "The distributions of table 2 have the means of table 1.",
                max(errors) < 0.01,
                seen=f"largest difference {100 * max(errors):.1f} %",
            )
        ],
        [Table("", columns, rows)],
    )


def table_3(show: Show, replications: int = REPLICATIONS) -> Outcome:
    """The 2^4 r experiment, with the error of every cell, and the allocation of variation."""
    from sesame.overhead.experiments import analyse, full_design, parse_factors
    from sesame.overhead.model import read_model
    from sesame.overhead.studies import study_factors

    factors = parse_factors(FACTORS)
    study = study_factors(
        read_model(MODEL), factors, list(PAPERS), _run(replications), progress=show
    )
    design = full_design(factors)
    theirs = {name: analyse(design, values) for name, values in PAPERS.items()}
    return Outcome(
        "paradyn-3",
        "Processor time of the daemon and throughput: 16 experiments",
        f"{PAPER}, table 3 and figure 7",
        _judgements(theirs, study.analyses, study.points),
        [
            _cells(study.points),
            *(_shares(name, theirs[name], study.analyses[name]) for name in PAPERS),
        ],
        runs=[point.as_json() for point in study.points],
    )


def _cells(points: Sequence[Point]) -> Table:
    rows = []
    for number, point in enumerate(points):
        cells = list(point.settings.values())
        for figure, papers in PAPERS.items():
            here = point.prediction.estimate(figure)
            half = (here.high - here.low) / 2
            error = 100 * (here.value / papers[number] - 1)
            cells += [f"{papers[number]:g}", f"{here.value:.3g} ± {half:.1g}", f"{error:+.0f} %"]
        rows.append(cells)
    columns = ["period", "processes", "instr. period", "policy"]
    for name in NAMES.values():
        columns += [f"{name}: the paper", "here", "error"]
    return Table("Table 3", columns, rows)


def _shares(figure: str, theirs: Analysis, ours: Analysis) -> Table:
    rows = [
        [one.word, one.name, f"{100 * one.share:.1f}", f"{100 * ours.share_of(one.word):.1f}"]
        for one in theirs.effects[:8]
    ]
    columns = ["", "factors", "from the paper's table 3 (%)", "here (%)"]
    return Table(f"Variation explained: {NAMES[figure]} (figure 7)", columns, rows)


def _judgements(
    theirs: dict[str, Analysis], ours: dict[str, Analysis], points: Sequence[Point]
) -> list[Judgement]:
    words = {name: _ranking(one) for name, one in ours.items()}
    papers = {name: _ranking(one) for name, one in theirs.items()}
    halves = list(zip(points[:8], points[8:], strict=True))
    cheaper = all(
        batch.prediction.daemon_cpu.mean() < forward.prediction.daemon_cpu.mean()
        for forward, batch in halves
    )
    at_32 = [pair for pair in halves if pair[0].settings["processes"] == "32"]
    faster = all(
        batch.prediction.throughput.mean() > forward.prediction.throughput.mean()
        for forward, batch in at_32
    )
    return [
        Judgement(
            "The number of processes is the most important factor for the daemon's processor "
            "time, followed by the policy and the instrumentation period.",
            _mains(ours["daemon_cpu"])[:3] == ["B", "D", "C"],
            seen=f"here {words['daemon_cpu']}; the paper's numbers {papers['daemon_cpu']}",
        ),
        Judgement(
            "The policy and its interaction with the number of processes are the most important "
            "for throughput, followed by the number of processes and the sampling period.",
            set(_first(ours["throughput"], 2)) == {"D", "BD"},
            remark=COLLAPSE,
            seen=f"here {words['throughput']}; the paper's numbers {papers['throughput']}",
        ),
        Judgement(
            "Batch-and-forward needs less processor time than collect-and-forward.",
            cheaper,
            seen="in all 8 pairs of experiments" if cheaper else "not in all pairs",
        ),
        Judgement(
            "Batch-and-forward has a higher throughput with 32 processes.",
            faster,
            remark=COLLAPSE,
            seen="in all 4 pairs of experiments" if faster else "not in all pairs",
        ),
    ]


def _first(found: Analysis, count: int) -> list[str]:
    return [one.word for one in found.effects[:count]]


def _mains(found: Analysis) -> list[str]:
    return [one.word for one in found.effects if len(one.word) == 1]


def _ranking(found: Analysis) -> str:
    return ", ".join(f"{one.word} {100 * one.share:.1f} %" for one in found.effects[:4])


def _curves(
    varied: str, by: str | None, settings: dict[str, str], show: Show, replications: int
) -> dict[str, list[Point]]:
    from sesame.overhead.model import read_model
    from sesame.overhead.studies import parse_levels, sweep

    model = read_model(MODEL).with_settings(settings)
    groups = parse_levels(by) if by else None
    return sweep(model, *parse_levels(varied), groups, _run(replications), show)


def _diagram(
    curves: dict[str, list[Point]], figure: str, title: str, axis: str, ordinate: str
) -> Diagram:
    name = axis.split()[0]
    scale = 1e3 if name == "sampling" else 1
    key = "sampling_period" if name == "sampling" else "processes"
    drawn = {
        group or "daemon": [
            (
                round(_number(point.settings[key]) * scale, 6),
                float(getattr(point.prediction, figure).mean()),
            )
            for point in points
        ]
        for group, points in curves.items()
    }
    return Diagram(title, axis, ordinate, drawn)


def _number(text: str) -> float:
    from sesame.overhead.distributions import parse_seconds

    return float(text) if text.isdecimal() else parse_seconds(text)


def _two(curves: dict[str, list[Point]], axis: str) -> list[Diagram]:
    return [
        _diagram(curves, "daemon_cpu", f"Processor time by {axis}", axis, "daemon (s of 100 s)"),
        _diagram(curves, "throughput", f"Throughput by {axis}", axis, "samples/s"),
    ]


def _values(points: Sequence[Point], figure: str) -> list[float]:
    return [float(getattr(point.prediction, figure).mean()) for point in points]


def figure_8(show: Show, replications: int = REPLICATIONS) -> Outcome:
    """Sampling period and number of processes, collect-and-forward."""
    by_period = _curves(PERIODS, None, {"processes": "8"}, show, replications)
    by_processes = _curves(PROCESSES, None, {"sampling_period": "40ms"}, show, replications)
    cpu = _values(by_period[""], "daemon_cpu")
    growth = _values(by_processes[""], "daemon_cpu")
    flow = _values(by_processes[""], "throughput")
    falls = all(later <= earlier * 1.02 for earlier, later in pairwise(cpu))
    return Outcome(
        "paradyn-8",
        "Effects of the sampling period and of the number of processes",
        f"{PAPER}, figure 8",
        [
            Judgement("The daemon's processor time falls with the sampling period.", falls),
            Judgement(
                "The daemon's processor time grows with the number of processes.",
                growth == sorted(growth),
            ),
            Judgement(
                "Throughput rises up to a small number of processes, then falls.",
                0 < flow.index(max(flow)) < len(flow) - 1,
                remark=COLLAPSE,
                seen=", ".join(f"{value:.0f}" for value in flow) + " samples/s",
            ),
        ],
        diagrams=[*_two(by_period, "sampling period (ms)"), *_two(by_processes, "processes")],
    )


def figure_9(show: Show, replications: int = REPLICATIONS) -> Outcome:
    """Several daemons on a node."""
    curves = _curves(PROCESSES, "daemons=1,2,4", {"sampling_period": "40ms"}, show, replications)
    one, four = curves["1"], curves["4"]
    most, single = (_values(points, "throughput")[-1] for points in (four, one))
    dear, cheap = (_values(points, "daemon_cpu")[-1] for points in (four, one))
    return Outcome(
        "paradyn-9",
        "Several daemons on a node",
        f"{PAPER}, figure 9 and section 3.4",
        [
            Judgement(
                "Several daemons increase the throughput when there are many processes.",
                most > 1.05 * single,
                seen=f"32 processes: {single:.0f} samples/s with 1 daemon, {most:.0f} with 4",
            ),
            Judgement(
                "Their processor time is not much higher than that of one.",
                dear < 1.5 * cheap,
                remark="here each daemon that has samples gets its share of the processor, so "
                "four that are behind take up to four times as much as one",
                seen=f"32 processes: {cheap:.1f} s with 1 daemon, {dear:.1f} s with 4",
            ),
        ],
        diagrams=_two(curves, "processes"),
    )


def figure_10(show: Show, replications: int = REPLICATIONS) -> Outcome:
    """Both policies."""
    by_period = _curves(PERIODS, "policy", {"processes": "8"}, show, replications)
    by_processes = _curves(PROCESSES, "policy", {"sampling_period": "40ms"}, show, replications)
    better = {}
    for figure, sign in (("daemon_cpu", -1), ("throughput", 1)):
        better[figure] = all(
            sign * batch >= sign * forward * (1 - sign * 0.02)
            for curves in (by_period, by_processes)
            for forward, batch in zip(
                _values(curves["forward"], figure), _values(curves["batch"], figure), strict=True
            )
        )
    return Outcome(
        "paradyn-10",
        "Collect-and-forward and batch-and-forward",
        f"{PAPER}, figure 10 and section 3.4",
        [
            Judgement("Batches need less processor time of the daemon.", better["daemon_cpu"]),
            Judgement("Batches have at least the same throughput.", better["throughput"]),
        ],
        diagrams=[*_two(by_period, "sampling period (ms)"), *_two(by_processes, "processes")],
    )


def figure_12(show: Show, replications: int = REPLICATIONS) -> Outcome:
    """The measured experiments of section 4, predicted."""
    from sesame.overhead.experiments import parse_factors
    from sesame.overhead.model import read_model
    from sesame.overhead.studies import study_factors

    factors = parse_factors(("policy=forward,batch", "sampling_period=10ms,30ms"))
    study = study_factors(
        read_model(MODEL), factors, list(TABLE_4), _run(replications), progress=show
    )
    tables = [_table_4(name, study.analyses[name]) for name in TABLE_4]
    forward, batch = (
        sum(
            float(one.prediction.daemon_cpu.mean())
            for one in study.points
            if one.settings["policy"] == policy
        )
        for policy in ("forward", "batch")
    )
    less = 1 - batch / forward
    runs = [
        [*point.settings.values()]
        + [f"{float(getattr(point.prediction, name).mean()):.3g}" for name in TABLE_4]
        for point in study.points
    ]
    columns = ["policy", "sampling period", "daemon (s of 100 s)", "main process (s of 100 s)"]
    return Outcome(
        "paradyn-12",
        "Policy and sampling period: what was measured, predicted",
        f"{PAPER}, figure 12 and table 4",
        [
            Judgement(
                "Batches take more than 60 % off the daemon's processor time.",
                less > 0.6,
                remark="the model was fitted to table 3, in which batches take off 51 to 60 %",
                seen=f"{100 * less:.0f} % here",
            ),
            Judgement(
                "The policy explains more of the daemon's processor time than the sampling period.",
                study.analyses["daemon_cpu"].share_of("A")
                > study.analyses["daemon_cpu"].share_of("B"),
                remark="figure 12 has no numbers to fit its application to",
            ),
        ],
        [Table("", columns, runs), *tables],
        runs=[point.as_json() for point in study.points],
    )


def _table_4(figure: str, found: Analysis) -> Table:
    rows = [
        [word, found_name, f"{paper:g}", f"{100 * found.share_of(word):.1f}"]
        for word, found_name, paper in zip(
            ("A", "B", "AB"), ("policy", "sampling period", "both"), TABLE_4[figure], strict=True
        )
    ]
    name = "daemon" if figure == "daemon_cpu" else "main process"
    columns = ["", "factor", "the paper, measured (%)", "here (%)"]
    return Table(f"Variation explained: {name} (table 4)", columns, rows)


CALCULATIONS = (
    Calculation(
        "paradyn-1",
        "lengths of requests, measured and modelled",
        f"{PAPER}, tables 1 and 2",
        table_1,
    ),
    Calculation(
        "paradyn-3",
        "16 experiments, allocation of variation",
        f"{PAPER}, table 3, figure 7",
        table_3,
    ),
    Calculation(
        "paradyn-8", "sampling period, number of processes", f"{PAPER}, figure 8", figure_8
    ),
    Calculation("paradyn-9", "several daemons on a node", f"{PAPER}, figure 9", figure_9),
    Calculation("paradyn-10", "both policies", f"{PAPER}, figure 10", figure_10),
    Calculation(
        "paradyn-12", "policy and sampling period", f"{PAPER}, figure 12, table 4", figure_12
    ),
)
