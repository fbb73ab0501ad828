"""The command line: one file per verb. `main` is the only place that prints an error."""

from __future__ import annotations

import importlib.abc
import os
import signal
import sys
import threading
from collections.abc import Iterator, MutableMapping
from types import FrameType
from typing import Any, NoReturn

import click

from sesame.errors import AlreadyReported, InputError, Interrupted, SesameError

VERBS = [
    "simulate",
    "trace",
    "machine",
    "info",
    "bench",
    "import",
    "export",
    "report",
    "replay",
    "reproduce",
    "measure",
    "characterize",
    "receive",
]
# By then it has cleaned up.
AGAIN_SECONDS = 0.01


def _load(verb: str) -> click.Command:
    """Each verb is imported only when it is wanted: all together take half a second."""
    match verb:
        case "simulate":
            from sesame.cli.simulate import simulate

            return simulate
        case "trace":
            from sesame.cli.trace import trace

            return trace
        case "machine":
            from sesame.cli.machine import machine

            return machine
        case "info":
            from sesame.cli.info import info

            return info
        case "bench":
            from sesame.cli.bench import bench

            return bench
        case "import":
            from sesame.cli.import_ import import_command

            return import_command
        case "export":
            from sesame.cli.export import export

            return export
        case "report":
            from sesame.cli.report import report

            return report
        case "replay":
            from sesame.cli.replay import replay

            return replay
        case "reproduce":
            from sesame.cli.reproduce import reproduce

            return reproduce
        case "measure":
            from sesame.cli.measure import measure

            return measure
        case "characterize":
            from sesame.cli.characterize import characterize_command

            return characterize_command
        case "receive":
            from sesame.cli.receive import receive

            return receive
        case _:
            raise KeyError(verb)


class _Verbs(MutableMapping[str, click.Command]):
    """The commands of the group, by name."""

    def __getitem__(self, verb: str) -> click.Command:
        return _load(verb)

    def __iter__(self) -> Iterator[str]:
        return iter(VERBS)

    def __len__(self) -> int:
        return len(VERBS)

    def __setitem__(self, verb: str, command: click.Command) -> None:
        raise TypeError("a verb is added to VERBS")

    def __delitem__(self, verb: str) -> None:
        raise TypeError("a verb is taken from VERBS")


@click.group(commands=_Verbs(), context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sesame", prog_name="sesame")
def cli() -> None:
    """Predict how a parallel program behaves on a machine that you do not have yet."""


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt  # SIGTERM must clean up as Ctrl-C does


def _interrupt_again(ignored: Any) -> None:
    """What comes while the interpreter cleans up behind itself it ignores, Ctrl-C as well."""
    if issubclass(ignored.exc_type, KeyboardInterrupt):
        threading.Timer(AGAIN_SECONDS, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(ignored)


class _WithoutPandas(importlib.abc.MetaPathFinder):
    """Nothing here uses pandas, but pyarrow takes half a second to load it for its first array."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"{name} is not loaded by the command line", name=name)


def main() -> NoReturn:
    signal.signal(signal.SIGTERM, _end)
    sys.unraisablehook = _interrupt_again
    sys.meta_path.insert(0, _WithoutPandas())
    try:
        status = cli.main(prog_name="sesame", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except AlreadyReported as error:
        sys.exit(error.exit_status)
    except SesameError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_status)
    except (KeyboardInterrupt, click.Abort):
        print("error: interrupted", file=sys.stderr)
        sys.exit(Interrupted.exit_status)
    except BrokenPipeError:  # the reader of our output has gone
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:  # of a path that may not even be asked whether it is there
        if error.filename is None:
            raise
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(InputError.exit_status)
