"""`sesame overhead validate`

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sesame.cli.console import new_table
from sesame.cli.grouped import grouped
from sesame.cli.overhead_shared import Status, finite, model_of, print_table
from sesame.errors import InputError

if TYPE_CHECKING:
    from sesame.overhead import NodeModel
    from sesame.overhead.beside import Program
    from sesame.overhead.daemon_runs import DaemonRun, DaemonSetting
    from sesame.overhead.studies import Limits
    from sesame.overhead.validation import Compared

FILE = click.Path(path_type=Path)
# Of the simulation of a setting.
REPLICATIONS = 5
CHECKED_S = 30.0  # measured time of an advised setting
TITLES = {
    "daemon_cpu": "daemon (%)",
    "main_cpu": "collector (%)",
    "latency_mean": "latency (s)",
    "latency_p99": "latency 99 % (s)",
}
Progress = Callable[[str], None]
Planned = tuple["DaemonSetting", "Program"]  # and the program beside it


@click.command(
    short_help="Compare a prediction with a real run of sesamed.",
    cls=grouped(
        Experiments=("periods", "batches", "beside", "size", "seconds"),
        Model=("settings",),
        Output=("output", "as_json"),
    ),
)
@click.argument("model", metavar="MODEL")
@click.option(
    "--periods",
    default="100ms,400ms",
    show_default=True,
    metavar="TIME,…",
    help="Sampling periods, from 50ms on.",
)
@click.option(
    "--batches",
    default="1,6",
    show_default=True,
    metavar="COUNT,…",
    help="Readings in a message; 1 is collect-and-forward.",
)
@click.option(
    "--beside",
    default="ep,is,bt",
    show_default=True,
    metavar="NAME,…",
    help="Workloads to run meanwhile (`sesame bench list`); nothing: none.",
)
@click.option(
    "--class",
    "size",
    type=click.Choice(("S", "W", "A", "B")),
    default="A",
    show_default=True,
    help="Of the workloads.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="Measured time of each experiment.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Change a setting of the model."
)
@click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="RUNS.csv",
    help="Add what is measured to this file. Experiments that are in it already, and are as long, "
    "are not run again.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def validate(
    model: str,
    periods: str,
    batches: str,
    beside: str,
    output: Path | None,
    *,
    as_json: bool,
    **options: Any,
) -> None:
    """Run sesamed under the settings of a model, and compare what it takes with the prediction.

    Starts sesamed and a collector on this machine, as root. Each combination of a period, a batch
    size and a program beside them is an experiment. The machine should be idle otherwise.

    \b
    sesame overhead validate node.toml --periods 100ms,400ms --batches 1,6 -o runs.csv
    """
    from sesame.extras import require
    from sesame.overhead.validation import check_model, compare, parse_batches, parse_periods

    require("daemon", "sesame overhead validate")
    chosen = model_of(model, options)
    check_model(chosen)
    programs = _programs(beside, options["size"])
    plan = _plan(parse_periods(periods), parse_batches(batches), programs)
    with Status() as show:
        runs = measured(plan, options["seconds"], output, show)
        show("simulating")
        found = compare(chosen, runs, simulation())
    if as_json:
        click.echo(json.dumps(finite([one.as_json() for one in found])))
        return
    print_compared(found)
    _print_variation(found)


def simulation() -> Any:
    from sesame.overhead.studies import Run

    return Run(replications=REPLICATIONS)


def _programs(text: str, size: str) -> list[Program]:
    """Of "ep,is". Raises InputError."""
    from sesame.overhead.beside import program_of

    names = [one.strip() for one in text.split(",") if one.strip()]
    if not names or len(set(names)) < len(names):
        raise InputError(f'--beside: expected different workloads such as ep,is, got "{text}"')
    return [program_of(name, size) for name in names]


def _plan(periods: list[float], batches: list[int], programs: list[Program]) -> list[Planned]:
    """Raises InputError for a period or a batch that sesamed refuses."""
    from sesame.measurement.daemon.settings import Settings, check
    from sesame.overhead.daemon_runs import DaemonSetting

    found: list[Planned] = []
    for program, period, batch in itertools.product(programs, periods, batches):
        check(Settings(interval=period, batch=batch))
        found.append((DaemonSetting(period, batch), program))
    return found


def measured(
    plan: Sequence[Planned], seconds: float, output: Path | None, show: Progress
) -> list[DaemonRun]:
    """The runs of a plan, in its order: those in the file that are as long, and new ones, which are
    added to it."""
    from sesame.overhead.daemon_runs import append_run, read_runs

    known: dict[tuple[DaemonSetting, str], DaemonRun] = {}
    if output is not None:
        _check(output)
        runs = read_runs(output) if output.exists() else []
        known = {(run.setting, run.beside): run for run in runs if run.seconds >= seconds}
    missing = [one for one in plan if (one[0], str(one[1])) not in known]
    for run in _new_runs(missing, seconds, show):
        known[run.setting, run.beside] = run
        if output is not None:
            append_run(output, run)
    return [known[setting, str(program)] for setting, program in plan]


def _check(output: Path) -> None:
    from sesame.cli.outputs import check_file

    if output.suffix != ".csv":
        raise InputError(f"-o {output}: expected a name that ends with .csv")
    check_file(output)


def _new_runs(plan: Sequence[Planned], seconds: float, show: Progress) -> Iterator[DaemonRun]:
    from sesame.overhead.beside import running
    from sesame.overhead.distributions import format_seconds
    from sesame.overhead.real_daemon import RealDaemon

    if not plan:
        return
    show("starting sesamed and a collector")
    with (
        tempfile.TemporaryDirectory(prefix="sesame-") as directory,
        RealDaemon(Path(directory)) as daemon,
    ):
        number = itertools.count(1)
        for program, planned in itertools.groupby(plan, lambda one: one[1]):
            with running(program) as beside:
                for setting, _ in planned:
                    words = f"every {format_seconds(setting.period_s)}, {setting.batch} a message"
                    show(f"{next(number)} of {len(plan)}: {words}, beside {program}")
                    yield daemon.measure(setting, seconds, beside, str(program))


@dataclass(frozen=True)
class CheckedAdvice:
    """An advised setting that was really run, and whether it kept to the limits."""

    run: DaemonRun
    limits: Limits

    @property
    def keeps_cost(self) -> bool:
        return self.run.daemon_share <= self.limits.cost

    @property
    def keeps_latency(self) -> bool:
        return self.run.latency_p99_s <= self.limits.latency

    def as_json(self) -> dict[str, Any]:
        return {
            "cost": self.run.daemon_share,
            "latency_p99_s": self.run.latency_p99_s,
            "keeps_cost": self.keeps_cost,
            "keeps_latency": self.keeps_latency,
        }

    def __str__(self) -> str:
        verdict = {
            (True, True): "keeps to both limits",
            (True, False): "is later than the limit",
            (False, True): "costs more than the limit",
            (False, False): "keeps to neither limit",
        }[self.keeps_cost, self.keeps_latency]
        return (
            f"measured for {self.run.seconds:.0f} s: cost {100 * self.run.daemon_share:.3g} % of a "
            f"processor, 99 % of the samples after {self.run.latency_p99_s:.3g} s: {verdict}"
        )


def check_checkable(model: NodeModel) -> None:
    """Raises InputError if `check_advice` cannot run."""
    from sesame.extras import require
    from sesame.overhead.validation import check_model

    require("daemon", "sesame overhead advise --check")
    check_model(model)
    if os.geteuid() != 0:
        raise InputError("--check starts sesamed, which needs root")


def check_advice(settings: Mapping[str, str], limits: Limits) -> CheckedAdvice:
    """Runs sesamed with advised settings and nothing beside it."""
    from sesame.overhead.beside import Program
    from sesame.overhead.daemon_runs import DaemonSetting
    from sesame.overhead.distributions import parse_seconds
    from sesame.overhead.real_daemon import least_duration_s

    period = parse_seconds(settings["sampling_period"])
    setting = DaemonSetting(period, int(settings.get("batch_size", 1)))
    duration_s = least_duration_s(setting, CHECKED_S)
    click.echo(f"sesamed runs for at least {duration_s:.0f} s with these settings", err=True)
    with Status() as show:
        (run,) = _new_runs([(setting, Program())], CHECKED_S, show)
    return CheckedAdvice(run, limits)


def print_compared(found: Sequence[Compared]) -> None:
    from sesame.overhead.distributions import format_seconds
    from sesame.overhead.validation import FIGURES, median_and_worst

    titles = [word for name in FIGURES for word in (TITLES[name], "predicted", "error")]
    table = new_table("period", "batch", "beside", *titles)
    for one in found:
        setting = one.run.setting
        cells = [format_seconds(setting.period_s), str(setting.batch), one.run.beside]
        for name in FIGURES:
            scale = 100 if name.endswith("cpu") else 1
            values = (one.measured(name), one.predicted[name].value)
            cells += [f"{scale * value:.3g}" for value in values]
            cells.append(f"{100 * one.error(name):+.0f} %")
        table.add_row(*cells)
    print_table(table)
    for name in FIGURES:
        median, worst = median_and_worst(found, name)
        text = f"error {100 * median:.1f} % in the median, {100 * worst:.1f} % at worst"
        click.echo(f"{TITLES[name]}: {text}")


def _print_variation(found: Sequence[Compared]) -> None:
    from sesame.overhead.validation import variation

    for figure in ("daemon_cpu", "main_cpu"):
        for title, (measured_one, predicted) in variation(found, figure).items():
            table = new_table(f"{figure}, {title}", "measured", "predicted")
            for effect in sorted(measured_one.effects, key=lambda one: (len(one.word), one.word)):
                shares = (one.share_of(effect.word) for one in (measured_one, predicted))
                table.add_row(effect.name, *(f"{100 * share:.1f} %" for share in shares))
            click.echo()
            print_table(table)
