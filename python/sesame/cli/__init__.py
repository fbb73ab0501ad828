"""The command line: one file per verb. `main` is the only place that prints an error."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from types import FrameType
from typing import Any, NoReturn

import click

from sesame.cli.commands import Commands
from sesame.cli.grouped import GroupedCommands
from sesame.errors import AlreadyReported, InputError, Interrupted, ReplayedElsewhere, SesameError
from sesame.lazy import hide_pandas
from sesame.settings import as_option, spelled

VERBS = {
    "simulate": "sesame.cli.simulate:simulate",
    "whatif": "sesame.cli.whatif:whatif",
    "trace": "sesame.cli.trace:trace",
    "machine": "sesame.cli.machine:machine",
    "info": "sesame.cli.info:info",
    "bench": "sesame.cli.bench:bench",
    "import": "sesame.cli.import_:import_command",
    "export": "sesame.cli.export:export",
    "report": "sesame.cli.report:report",
    "diff": "sesame.cli.diff:diff",
    "accuracy": "sesame.cli.accuracy:accuracy",
    "check": "sesame.cli.check_baseline:check",
    "replay": "sesame.cli.replay:replay",
    "reproduce": "sesame.cli.reproduce:reproduce",
    "measure": "sesame.cli.measure:measure",
    "overhead": "sesame.cli.overhead:overhead",
    "characterize": "sesame.cli.characterize:characterize_command",
    "collect": "sesame.cli.collect:collect",
    "token": "sesame.cli.token:token",
    "evaluate": "sesame.cli.evaluate:evaluate",
    "serve": "sesame.cli.serve:serve",
    "push": "sesame.cli.push:push",
    "pull": "sesame.cli.pull:pull",
}
# The help lists the verbs by job. Their summaries are here, so that it imports none of them.
SECTIONS = {
    "Predict": {
        "simulate": "Predict how an MPI program runs on a machine.",
        "whatif": "Predict what a change of the machine would do to a run.",
        "replay": "Repeat the I/O of a traced run on a real file system.",
        "overhead": "Predict what measuring costs, before it is switched on.",
        "machine": "List, show, check and calibrate machine models.",
        "accuracy": "Keep pairs of predicted and real runs; show past errors.",
    },
    "Record and explain": {
        "trace": "Record what a real run does with files and messages.",
        "report": "Write a page about a run: where its time went.",
        "info": "Show what a data set contains.",
        "diff": "Compare data sets: what takes longer, beyond noise.",
        "characterize": "Show how a disk or an application is really used.",
        "import": "Convert a trace of another tool to a data set.",
        "export": "Write a data set in a format of other tools.",
    },
    "Measure the operating system": {
        "measure": "Measure inside the running operating system.",
        "collect": "Collect or forward the measurements of many nodes.",
        "token": "Make and revoke tokens for clients of daemons.",
    },
    "Test and judge": {
        "check": "Fail when a program is slower than its baseline.",
        "bench": "Run real MPI programs that check their own answers.",
        "evaluate": "Judge a machine over months: availability and speed.",
        "reproduce": "Repeat the experiments of a published report.",
    },
    "Share": {
        "serve": "Show data sets as pages in a browser.",
        "push": "Send a data set or a trace to a repository.",
        "pull": "Download a data set or a model from a repository.",
    },
}
# Delay before an interrupt is repeated: by then the interpreter has cleaned up.
AGAIN_SECONDS = 0.01
# A word that may have the address of a thing; the client looks closer.
ADDRESS = re.compile(r"[\w\]]/[dtmr]/[0-9a-z]{8}(/|$)")


class Sesame(GroupedCommands):
    """All verbs."""

    sections = SECTIONS


@click.group(
    cls=Sesame,
    commands=Commands(VERBS),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="sesame-hpc", prog_name="sesame")
def cli() -> None:
    """Predict how a parallel program behaves on a machine that you do not have yet.

    \b
    sesame simulate -n 64 --machine infiniband --set node.cores=4 --report run.html -- ./app
    sesame trace -o run.sesame -- mpiexec -n 8 ./app

    `sesame COMMAND --help` has the options of a command, with examples.
    """
    click.get_current_context().with_resource(spelled(as_option))


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt  # SIGTERM cleans up like Ctrl-C


def _interrupt_again(ignored: Any) -> None:
    """Repeats an interrupt that arrived while the interpreter cleaned up and ignored it."""
    if not issubclass(ignored.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(ignored)
        return
    try:
        threading.Timer(AGAIN_SECONDS, os.kill, (os.getpid(), signal.SIGINT)).start()
    except KeyboardInterrupt:  # it came before `start` returned: the interpreter would ignore it
        _interrupt_again(ignored)


def _arguments() -> list[str]:
    """The words of the command line, with addresses of repositories replaced by what they name."""
    words = sys.argv[1:]
    if not any(ADDRESS.search(word) for word in words):
        return words
    from sesame.repository.client import resolve_arguments

    return resolve_arguments(words)


def main() -> NoReturn:
    signal.signal(signal.SIGTERM, _end)
    sys.unraisablehook = _interrupt_again
    hide_pandas()
    try:
        status = cli.main(_arguments(), prog_name="sesame", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (AlreadyReported, ReplayedElsewhere) as error:
        sys.exit(error.exit_status)
    except SesameError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_status)
    except (KeyboardInterrupt, click.Abort):
        print("error: interrupted", file=sys.stderr)
        sys.exit(Interrupted.exit_status)
    except BrokenPipeError:  # the reader of our output has ended
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:  # even `exists` may fail on a path
        if error.filename is None:
            raise
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(InputError.exit_status)
