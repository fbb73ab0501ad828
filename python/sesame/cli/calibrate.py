"""`sesame machine calibrate`

Large modules are imported where they are used, so that the help comes quickly.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from sesame import native
from sesame.cli.grouped import grouped
from sesame.errors import InputError, OutputError
from sesame.host_load import LoadWatch, load_of
from sesame.trust import Doubt

if TYPE_CHECKING:
    from sesame.analysis.calibration import Calibration
    from sesame.analysis.storage_fit import StorageFit
    from sesame.cli.calibrating import Session
    from sesame.workloads import Compiler

KERNELS = (("ep", ("--class", "S")), ("cg", ("--class", "W")), ("is", ("--class", "W")))
BUDGET_S = 240.0
USUAL = "a minute or two"  # on an idle machine
MOST_NAMED = 3  # reasons that the error message lists
LOOK_S = 1.0  # for how long to watch the load before measuring
HINT = "wait until the machine is idle; --accept-doubts writes the file with the doubts as comments"


@dataclass(frozen=True)
class CalibrateOptions:
    """The options of `sesame machine calibrate`."""

    file: Path
    mpi: str | None
    ranks: int
    hosts: str  # names with commas between
    directory: Path | None
    name: str
    budget: float  # seconds
    accept_doubts: bool
    force: bool


@click.command(
    cls=grouped(
        Measurement=("mpi", "ranks", "hosts", "directory", "budget"),
        Output=("file", "name", "accept_doubts", "force"),
    )
)
@click.option(
    "--file",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE.toml",
    help="The machine file to write. It is a model, not a data set.",
)
@click.option("--mpi", metavar="WRAPPER", help="The MPI compiler wrapper for C++ to build with.")
@click.option(
    "--ranks", default=2, type=click.IntRange(min=2), help="Ranks of the runs inside one node."
)
@click.option(
    "--hosts",
    default="",
    metavar="A,B,…",
    help="Hosts. With two or more, also measure messages between the first two.",
)
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Also measure storage in this directory.",
)
@click.option("--name", default="here", help="Name of the machine in the file.")
@click.option(
    "--budget",
    default=BUDGET_S,
    show_default=True,
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Repeat measurements for at most this time.",
)
@click.option(
    "--accept-doubts", is_flag=True, help="Write the file although its constants are doubtful."
)
@click.option("--force", is_flag=True, help="Write over an existing file.")
def calibrate(**options: Any) -> None:
    """Measure this machine and write a model of it.

    Measures messages inside a node and between the first two hosts. The file gives each constant
    with its interval and with the measurements that it was fitted to. Measurements that scatter
    are repeated. No file is written if the machine is busy.

    \b
    sesame machine calibrate --file here.toml
    """
    _calibrate(CalibrateOptions(**options))


def _calibrate(options: CalibrateOptions) -> None:
    from sesame.analysis.calibration import machine_text
    from sesame.analysis.storage_fit import storage_sentences
    from sesame.cli.calibrating import Session
    from sesame.workloads import find_compiler

    _check_output(options.file, force=options.force)
    compiler = find_compiler(options.mpi)
    console = Console(stderr=True, highlight=False)
    load = load_of(LOOK_S)
    if load.is_heavy:
        _refuse(load.doubts(), options)
    console.print(f"measuring takes {USUAL} on an idle machine, {options.budget:g} s at most")
    with console.status("measuring") as status:
        session = Session(options.budget, tell=status.update)
        session.note(load)
        found, storage, sentences = _measure(compiler, options, session)
    fits = [
        fit for fit in (found.inside, found.between, *found.kernels, storage) if fit is not None
    ]
    doubts = session.doubts + [doubt for fit in fits for doubt in fit.doubts()]
    _refuse(doubts, options)
    uncertain = session.uncertainties + found.inside.uncertainties()
    uncertain += found.between.uncertainties() if found.between is not None else []
    uncertain += [doubt for kernel in found.kernels for doubt in kernel.uncertainties()]
    _write(options.file, machine_text(replace(found, doubts=doubts, uncertainties=uncertain)))
    for sentence in sentences:
        console.print(sentence, markup=False)
    if found.between is None:
        console.print("messages between nodes were not measured: one host")
    missing = ["storage was not measured: to measure it, use --dir DIR"]
    for sentence in missing if storage is None else storage_sentences(storage):
        console.print(sentence, markup=False)
    for label, found_doubts in (("doubtful", doubts), ("uncertain", uncertain)):
        for doubt in found_doubts:
            console.print(f"{label}: {doubt}", markup=False, soft_wrap=True)
    console.print(f"machine file: {options.file}", soft_wrap=True, markup=False)


def _refuse(doubts: Sequence[Doubt], options: CalibrateOptions) -> None:
    if doubts and not options.accept_doubts:
        texts = list(dict.fromkeys(doubt.text for doubt in doubts))
        more = [f"and {len(texts) - MOST_NAMED} more"] if len(texts) > MOST_NAMED else []
        reasons = "; ".join([*texts[:MOST_NAMED], *more])
        raise InputError(f"{options.file} is not written: {reasons}", hint=HINT)


def _measure(
    compiler: Compiler, options: CalibrateOptions, session: Session
) -> tuple[Calibration, StorageFit | None, list[str]]:
    """The calibration, the model of storage, and sentences about the cost of messages."""
    from sesame.analysis.calibration import Calibration
    from sesame.analysis.findings.messages import segment_sentences
    from sesame.analysis.segments import breaks_of
    from sesame.analysis.storage_fit import fit_storage
    from sesame.cli.calibrating import measure_kernel, measure_messages
    from sesame.workloads import build_workload, find_workload
    from sesame.workloads.storage_times import measure_storage

    hosts = [host for host in options.hosts.split(",") if host]
    messages = build_workload(find_workload("messages"), compiler)
    inside, reports = measure_messages(
        messages, options.ranks, hosts[:1], session, "messages inside a node"
    )
    between = None
    if len(hosts) > 1:
        what = f"messages between {hosts[0]} and {hosts[1]}"
        between, _ = measure_messages(messages, 2, hosts[:2], session, what)
    kernels = []
    for name, arguments in KERNELS:
        session.tell(f"building {name}")
        kernels.append(
            measure_kernel(build_workload(find_workload(name), compiler), arguments, session)
        )
    storage = None
    if options.directory is not None:
        session.tell(f"measuring storage in {options.directory}")
        watch = LoadWatch()
        storage = fit_storage(measure_storage(options.directory))
        # Kernel threads work for the storage, so only what the hypervisor took counts as load.
        session.note(replace(watch.stop(), others_s=0.0), "while storage was measured ")
    found = Calibration(
        name=options.name,
        host=platform.node(),
        processor=_processor(),
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        cores=os.cpu_count() or 1,
        inside=inside,
        mpi=reports[0]["parameters"]["mpi"],
        kernels=kernels,
        between=between,
        hosts=hosts,
        storage=storage,
    )
    sentences = segment_sentences(inside.segments, breaks_of(inside.segments))
    return found, storage, sentences


def _check_output(path: Path, *, force: bool) -> None:
    from sesame.cli.outputs import check_file

    if path.suffix != ".toml":
        raise InputError(f"--file {path}: expected a name that ends with .toml")
    if path.exists() and not force:
        raise InputError(f"{path}: exists already", hint="--force writes over it")
    check_file(path)


def _write(output: Path, text: str) -> None:
    """Writes the file only if it is a valid machine file; a failed write leaves none."""
    draft = output.with_name(f".{output.stem}.part.toml")
    try:
        draft.write_text(text, encoding="utf-8")
        native.read_machine(str(draft))
        draft.replace(output)
    except OSError as error:
        raise OutputError(f"{output}: cannot write: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
