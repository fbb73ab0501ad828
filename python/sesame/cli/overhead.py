"""`sesame overhead characterize|predict|factors|sweep|advise|validate`

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sesame.cli.budget import share_of
from sesame.cli.console import new_table
from sesame.cli.grouped import grouped
from sesame.cli.overhead_shared import Status, finite, model_of, print_table
from sesame.cli.overhead_validate import check_advice, check_checkable, validate
from sesame.errors import InputError

if TYPE_CHECKING:
    from sesame.overhead import Prediction
    from sesame.overhead.characterize import Characterised
    from sesame.overhead.experiments import Analysis
    from sesame.overhead.studies import Advice, FactorStudy, Point, Run
    from sesame.trust import Doubt, Estimate

FILE = click.Path(path_type=Path)
SEED = click.IntRange(0, 2**64 - 1)
DEFAULT_FIGURES = "daemon_cpu,throughput"
SHOWN = (
    "daemon_cpu",
    "main_cpu",
    "application_cpu",
    "throughput",
    "latency_mean",
    "latency_p99",
    "slowdown",
    "processor_utilisation",
)
IF_ANY = ("blocked", "lost")  # shown where they are not 0
SIMULATION = ("seconds", "replications", "seed", "workers", "settings")
Command = Callable[..., Any]


def _simulation(replications: int) -> Callable[[Command], Command]:
    """The options of all verbs that simulate."""
    options = [
        click.option(
            "--seconds",
            type=click.FloatRange(min=0, min_open=True),
            help="Simulated time of a replication. Default: 100, or 50 messages of a daemon.",
        ),
        click.option(
            "-r",
            "--replications",
            type=click.IntRange(min=1),
            default=replications,
            show_default=True,
            help="Independent replications of each setting.",
        ),
        click.option("--seed", type=SEED, default=1, show_default=True, help="Of random numbers."),
        click.option("--workers", type=click.IntRange(min=1), help="Threads. Default: processors."),
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="NAME=VALUE",
            help="Change a setting of the model, such as sampling_period=10ms.",
        ),
    ]

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
REPORT = click.option(
    "-o", "--report", type=FILE, metavar="FILE.html", help="Write a page with charts and tables."
)


@click.group()
def overhead() -> None:
    """Predict what measuring costs, before it is switched on.

    MODEL is a node.toml, which `characterize` writes, or the name of a shipped model: paradyn
    or sesamed.

    \b
    sesame overhead characterize job.sesame -o node.toml
    sesame overhead predict node.toml --set sampling_period=10ms
    sesame overhead advise node.toml --at-most 1% --latency 1s
    """


@overhead.command()
@click.argument("path", metavar="FILE", type=FILE)
@click.option(
    "-o", "--output", type=FILE, metavar="NODE.toml", required=True, help="The model to write."
)
@click.option("--application", metavar="NAME", help="Threads of the application, such as `lmp*`.")
@click.option("--daemon", metavar="NAME", help="Threads of the daemon. Default: sesame's.")
@click.option(
    "--daemon-runs",
    type=FILE,
    metavar="RUNS.csv",
    help="Runs of sesamed with several batch sizes, which `validate -o` writes: they show what a "
    "reading and what a message needs.",
)
@click.option("--report", type=FILE, metavar="FILE.html", help="Write a page with all fits.")
@click.option("--seed", type=SEED, default=1, show_default=True, help="Of the bootstrap.")
@click.option("--force", is_flag=True, help="Write over existing files.")
@JSON
def characterize(
    path: Path,
    output: Path,
    application: str | None,
    daemon: str | None,
    daemon_runs: Path | None,
    report: Path | None,
    seed: int,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Write a node model from a measurement of a running node.

    FILE is a data set of `sesame measure run --trace sched`, the text of `perf script` with
    sched:sched_switch, or a CSV table with the columns class, quantity and seconds.

    \b
    sesame overhead characterize job.sesame -o node.toml --report fits.html
    """
    from sesame.extras import require

    require("overhead", "sesame overhead characterize", "scipy")
    from sesame.overhead.characterize import characterise, node_toml
    from sesame.overhead.occupancy_files import read_lengths
    from sesame.web.page import write_whole

    _check_new(output, "-o", ".toml", force=force)
    if report is not None:
        _check_new(report, "--report", ".html", force=force)
    if not path.exists():
        raise InputError("there is no such file or data set", path=str(path))
    costs = None
    if daemon_runs is not None:
        from sesame.overhead.daemon_runs import fit_costs, read_runs

        costs = fit_costs(read_runs(daemon_runs))
    lengths = read_lengths(path, application, daemon)
    with Status() as show:
        found = characterise(lengths, path.stem, seed, show)
    if costs is not None:
        found = found.with_costs(costs)
    write_whole(output, node_toml(found, path.name))
    if report is not None:
        from sesame.analysis.overhead_page import write_characterisation

        write_characterisation(found, path.name, report)
    if as_json:
        click.echo(json.dumps(found.as_json()))
        return
    _print_parts(found)
    click.echo(f"node model: {output}", err=True)


@overhead.command(
    cls=grouped(Simulation=SIMULATION, Output=("as_json",)),
    short_help="Predict what an instrumentation system takes.",
)
@click.argument("model", metavar="MODEL")
@_simulation(50)
@JSON
def predict(model: str, as_json: bool, **options: Any) -> None:
    """Predict what an instrumentation system takes, and what it delivers.

    \b
    sesame overhead predict paradyn --set sampling_period=10ms --set daemons=2
    """
    from sesame.overhead.studies import ignored

    chosen, run = model_of(model, options), _run(options)
    with Status() as show:
        show(f"simulating {run.replications} replications")
        found = run.predict(chosen)
    set_here = [text.partition("=")[0] for text in options["settings"]]
    found = replace(found, doubts=(*found.doubts, *ignored([chosen], set_here)))
    if as_json:
        click.echo(json.dumps(finite(found.as_json())))
        return
    _print_prediction(found)


@overhead.command(
    cls=grouped(
        Simulation=SIMULATION,
        Design=("fraction", "log"),
        Analysis=("figures", "confidence"),
        Output=("report", "as_json"),
    ),
    short_help="Find out which factors matter.",
)
@click.argument("model", metavar="MODEL")
@click.argument("factors", metavar="FACTOR=LOW,HIGH…", nargs=-1, required=True)
@click.option(
    "--figures",
    default=DEFAULT_FIGURES,
    show_default=True,
    metavar="NAME,…",
    help="Figures of the prediction to analyse.",
)
@click.option(
    "--fraction",
    type=click.IntRange(min=0),
    default=0,
    metavar="P",
    show_default=True,
    help="Only 2^(k-P) of the 2^k runs; some interactions are confounded.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.90,
    show_default=True,
    help="Of the intervals of effects.",
)
@click.option("--log", is_flag=True, help="Analyse logarithms: a multiplicative model.")
@_simulation(50)
@REPORT
@JSON
def factors(
    model: str,
    factors: tuple[str, ...],
    figures: str,
    fraction: int,
    confidence: float,
    *,
    log: bool,
    report: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Find out which factors matter: a 2^k r factorial experiment.

    \b
    sesame overhead factors paradyn sampling_period=5ms,50ms processes=1,32 policy=forward,batch
    """
    from sesame.overhead.experiments import parse_factors
    from sesame.overhead.studies import study_factors

    if report is not None:
        _check_page(report)
    chosen = model_of(model, options)
    with Status() as show:
        study = study_factors(
            chosen,
            parse_factors(factors),
            _words(figures),
            _run(options),
            fraction=fraction,
            confidence=confidence,
            is_logarithmic=log,
            progress=show,
        )
    if report is not None:
        from sesame.analysis.overhead_page import write_factors

        write_factors(study, chosen, report)
    if as_json:
        click.echo(json.dumps(finite(study.as_json())))
        return
    _print_study(study)


@overhead.command(cls=grouped(Simulation=SIMULATION, Output=("report", "as_json")))
@click.argument("model", metavar="MODEL")
@click.argument("varied", metavar="SETTING=FIRST..LAST")
@click.option(
    "--by",
    metavar="SETTING[=A,B,…]",
    help="A curve for each of these: policy, or another setting with its values.",
)
@_simulation(20)
@REPORT
@JSON
def sweep(
    model: str, varied: str, by: str | None, *, report: Path | None, as_json: bool, **options: Any
) -> None:
    """Vary one setting, and compare curves of another.

    SETTING=1..32 doubles from step to step, SETTING=5ms..50ms takes six times, and
    SETTING=A,B,C the values given.

    \b
    sesame overhead sweep paradyn processes=1..32 --by policy -o page.html
    """
    from sesame.overhead.studies import parse_levels
    from sesame.overhead.studies import sweep as run_sweep

    if report is not None:
        _check_page(report)
    chosen = model_of(model, options)
    name, values = parse_levels(varied)
    groups = parse_levels(by) if by else None
    with Status() as show:
        curves = run_sweep(chosen, name, values, groups, _run(options), show)
    if report is not None:
        from sesame.analysis.overhead_page import write_sweep

        write_sweep(curves, name, groups[0] if groups else "", chosen, report)
    if as_json:
        points = [point.as_json() for some in curves.values() for point in some]
        click.echo(json.dumps(finite({"varied": name, "points": points})))
        return
    _print_curves(curves)


@overhead.command(
    cls=grouped(Simulation=SIMULATION, Limits=("at_most", "latency"), Output=("as_json",)),
    short_help="Name the setting that keeps to a cost and a latency.",
)
@click.argument("model", metavar="MODEL")
@click.option(
    "--at-most",
    callback=share_of,
    required=True,
    metavar="SHARE",
    help="Share of a processor that daemons and writing samples may take, such as 1%.",
)
@click.option(
    "--latency",
    required=True,
    metavar="TIME",
    help="99 % of the samples must have been received after this time, such as 1s.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Run sesamed with this setting, as root, and say whether it keeps to both. Takes 30 s and "
    "two batches, or three batches if a batch takes longer.",
)
@_simulation(20)
@JSON
def advise(
    model: str,
    at_most: float,
    latency: str,
    *,
    check: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Name the setting that keeps to a cost and a latency, or say why none does.

    Searches for the shortest sampling period, over both policies and several sizes of batches.

    \b
    sesame overhead advise paradyn --at-most 1% --latency 1s
    """
    from sesame.overhead.distributions import parse_seconds
    from sesame.overhead.studies import Limits
    from sesame.overhead.studies import advise as search

    limits = Limits(at_most, parse_seconds(latency))
    chosen = model_of(model, options)
    if check:
        check_checkable(chosen)
    with Status() as show:
        found = search(chosen, limits, _run(options), progress=show)
    if not as_json:
        _print_advice(found)
    measured = {}
    try:
        if check and found.chosen is not None:
            checked = check_advice(found.chosen.settings, limits)
            measured = {"measured": checked.as_json()}
            if not as_json:
                click.echo(str(checked))
    finally:  # the search took long, so its result is printed even if sesamed does not start
        if as_json:
            click.echo(json.dumps(finite(_advice_json(found) | measured)))


def _run(options: Mapping[str, Any]) -> Run:
    from sesame.overhead.studies import Run

    return Run(options["seconds"], options["replications"], options["seed"], options["workers"])


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _check_page(path: Path) -> None:
    """A page shows what was asked for just now, so it is written over."""
    _check_new(path, "-o", ".html", force=True)


def _check_new(path: Path, option: str, suffix: str, *, force: bool) -> None:
    from sesame.cli.outputs import check_file

    if path.suffix != suffix:
        raise InputError(f"{option} {path}: expected a name that ends with {suffix}")
    if path.exists() and not force:
        raise InputError(f"{path}: exists already", hint="--force replaces it")
    check_file(path)


def _print_doubts(doubts: Sequence[Doubt], what: str = "") -> None:
    for doubt in dict.fromkeys(doubts):
        click.echo(f"doubtful: {what}{doubt}")
        if doubt.hint:
            click.echo(f"hint: {doubt.hint}")


def _interval(one: Estimate, factor: float = 1.0) -> tuple[str, str]:
    import math

    if math.isnan(one.value):
        return "none", ""
    bounds = (
        f"{one.low * factor:.4g} to {one.high * factor:.4g}"
        if math.isfinite(one.low)
        else "unknown"
    )
    return f"{one.value * factor:.4g}", bounds


def _print_prediction(found: Prediction) -> None:
    from sesame.overhead import FIGURES

    table = new_table("figure", "mean", "95 % interval", "unit", "meaning")
    for name in (*SHOWN, *(one for one in IF_ANY if getattr(found, one).any())):
        unit, meaning = FIGURES[name]
        table.add_row(name, *_interval(found.estimate(name)), unit, meaning)
    print_table(table)
    click.echo(f"{found.replications} replications of {found.seconds:g} s")
    _print_doubts(found.doubts)


def _print_parts(found: Characterised) -> None:
    table = new_table("class", "quantity", "lengths", "mean", "distribution", "fit")
    from sesame.analysis.quantities import format_seconds

    for part in found.parts:
        fitted = part.fitted
        goodness = fitted.goodness
        verdict = "" if goodness is None else f"KS p = {goodness.ks_probability:.2f}"
        count = f"{len(fitted.lengths):,}"
        row = (count, format_seconds(fitted.mean), fitted.described, verdict)
        table.add_row(part.class_, part.quantity, *row)
    print_table(table)
    for what, doubt in found.all_doubts():
        _print_doubts([doubt], f"{what}: " if what else "")


def _print_study(study: FactorStudy) -> None:
    for letter, factor in zip("ABCDEFGHJK", study.design.factors, strict=False):
        click.echo(f"{letter}: {factor.name} = {factor.low}, {factor.high}")
    if study.design.generators:
        click.echo(f"fraction: {', '.join(study.design.generators)}")
    for name, found in study.analyses.items():
        click.echo()
        _print_analysis(f"log {name}" if study.is_logarithmic else name, found)


def _print_analysis(name: str, found: Analysis) -> None:
    percent = f"{100 * found.confidence:g} % interval"
    table = new_table(name, "effect", percent, "variation", "confounded with")
    for one in found.effects:
        if one.share < 0.0005 and len(found.effects) > 8:
            continue
        value, bounds = _interval(one.effect)
        bounds = "unknown" if one.is_significant is None else bounds
        mark = "" if one.is_significant in (None, True) else " (may be 0)"
        aliases = ", ".join(one.aliases)
        share = f"{100 * one.share:.1f} %"
        table.add_row(f"{one.word} {one.name}", value, bounds + mark, share, aliases)
    table.add_row("by chance", "", "", f"{100 * found.error_share:.1f} %", "")
    print_table(table)
    click.echo(f"mean {found.mean.value:.4g}")
    _print_doubts(found.doubts)


def _print_curves(curves: Mapping[str, Sequence[Point]]) -> None:
    shown = ("daemon_cpu", "throughput", "latency_mean", "slowdown")
    names = list(next(iter(curves.values()))[0].settings)
    table = new_table(*names, "daemon (s)", "samples/s", "latency (s)", "slowdown (%)")
    doubts: list[Doubt] = []
    for points in curves.values():
        for point in points:
            cells = [
                _interval(point.prediction.estimate(one), 100 if one == "slowdown" else 1)[0]
                for one in shown
            ]
            table.add_row(*point.settings.values(), *cells)
            doubts += point.prediction.doubts
    print_table(table)
    _print_doubts(doubts)


def _advice_json(found: Advice) -> dict[str, Any]:
    chosen = found.chosen
    return {
        "chosen": None if chosen is None else chosen.as_json(),
        "why_none": found.why,
        "tried": [one.as_json() for one in found.tried],
    }


def _print_advice(found: Advice) -> None:
    if found.chosen is None or found.prediction is None:
        click.echo(f"no setting keeps to both limits: {found.why}")
        return
    chosen = found.chosen
    words = " ".join(f"--set {name}={value}" for name, value in chosen.settings.items())
    click.echo(f"use {words}")
    click.echo(
        f"cost {100 * chosen.cost.value:.3g} % of a processor (at most "
        f"{100 * chosen.cost.high:.3g} %), 99 % of the samples received after "
        f"{chosen.latency.value:.3g} s (at most {chosen.latency.high:.3g} s)"
    )
    _print_doubts(chosen.doubts)


overhead.add_command(validate)
