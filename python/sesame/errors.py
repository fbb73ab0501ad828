"""Errors that the user can act on. Only `main` prints them."""


class SesameError(Exception):
    """A message and, where there is one, a hint. The command ends with `exit_status`."""

    exit_status = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nhint: {self.hint}"


class InputError(SesameError):
    """Wrong input: an option, a machine file, a program, a data set."""

    exit_status = 2

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        line: int | None = None,
        hint: str | None = None,
    ) -> None:
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(where + message, hint=hint)
        self.reason = message  # without the path, which readers of a server may not see
        self.path = path
        self.line = line


class OutputError(SesameError):
    """Output that cannot be written: a full disk, a missing permission, a file in the way."""

    exit_status = 2


class SimulationError(SesameError):
    """A simulation that ended without a result."""

    def __init__(self, message: str, *, hint: str | None = None, exit_status: int = 1) -> None:
        super().__init__(message, hint=hint)
        self.exit_status = exit_status


class TracingError(SesameError):
    """A run that could not be recorded."""

    def __init__(self, message: str, *, hint: str | None = None, exit_status: int = 1) -> None:
        super().__init__(message, hint=hint)
        self.exit_status = exit_status


class BuildError(SesameError):
    """A workload that cannot be built."""


class WorkloadError(SesameError):
    """A workload that ended without a report."""


class ReplayError(SesameError):
    """A replay that could not continue."""


class ReplayedElsewhere(SesameError):
    """Not a failure: of the processes of an MPI job that replay a run, the first has the result."""

    exit_status = 0

    def __init__(self) -> None:
        super().__init__("the first process of this job has the result of the replay")


class Interrupted(SesameError):
    """Ended by Ctrl-C."""

    exit_status = 130

    def __init__(self) -> None:
        super().__init__("interrupted")


class AlreadyReported(SesameError):
    """A child process has said on stderr what is wrong; only the exit status is left to pass on."""

    def __init__(self, exit_status: int) -> None:
        super().__init__("")
        self.exit_status = exit_status
