"""The command line: one file per verb. `main` is the only place that prints an error."""

from __future__ import annotations

import importlib.abc
import signal
import sys
from types import FrameType
from typing import NoReturn

import click

from sesame import __version__
from sesame.cli.bench import bench
from sesame.cli.export import export
from sesame.cli.import_ import import_command
from sesame.cli.info import info
from sesame.cli.machine import machine
from sesame.cli.replay import replay
from sesame.cli.report import report
from sesame.cli.simulate import simulate
from sesame.cli.trace import trace
from sesame.errors import AlreadyReported, Interrupted, SesameError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sesame")
def cli() -> None:
    """Predict how a parallel program behaves on a machine that you do not have yet."""


cli.add_command(simulate)
cli.add_command(trace)
cli.add_command(machine)
cli.add_command(info)
cli.add_command(bench)
cli.add_command(import_command)
cli.add_command(export)
cli.add_command(report)
cli.add_command(replay)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt  # SIGTERM must clean up as Ctrl-C does


class _WithoutPandas(importlib.abc.MetaPathFinder):
    """Nothing here uses pandas, but pyarrow takes half a second to load it for its first array."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"{name} is not loaded by the command line", name=name)


def main() -> NoReturn:
    signal.signal(signal.SIGTERM, _end)
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
