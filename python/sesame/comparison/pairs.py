"""Makes a pair of a prediction and a measurement, for `sesame.accuracy`."""

from __future__ import annotations

from sesame.accuracy import Pair, Pairs, known_by
from sesame.comparison.difference import compare_sides
from sesame.comparison.side import Paths, Side, read_sides
from sesame.datasets import Kind
from sesame.errors import InputError
from sesame.trust import Reason

# A pair with one of these doubts says nothing about the model.
REFUSED = (Reason.NOT_COMPARABLE, Reason.INCOMPLETE_INPUT)


def add_pair(predicted: Paths, measured: Paths, pairs: Pairs | None = None) -> Pair:
    """Stores a simulated run and real runs of the same program as a pair, which shows the error of
    the machine model.

    Raises InputError if they cannot be compared, or the pair is stored already. Other doubts, such
    as a busy host, are stored with the pair.
    """
    real, simulated = read_sides([measured, predicted])
    _check_kinds(simulated, real)
    difference = compare_sides([real, simulated])
    for doubt in difference.doubts:
        if doubt.reason in REFUSED:
            raise InputError(f"no pair: {doubt}", hint=doubt.hint)
    run = simulated.run
    program, arguments = known_by([real.run.program or run.program, *real.run.arguments])
    _, predicted_arguments = known_by([run.program, *run.arguments])
    if predicted_arguments != arguments and not run.program.endswith(".sesame"):
        raise InputError(
            f"no pair: arguments differ: {' '.join(arguments) or '(none)'} were measured, "
            f"{' '.join(predicted_arguments) or '(none)'} predicted"
        )
    if real.time.value <= 0:
        raise InputError("no pair: no time was measured", path=str(real.run.path))
    pair = Pair(
        number=0,
        added="",
        machine=run.machine,
        machine_key=run.machine_key or "",
        program=program,
        arguments=arguments,
        ranks=run.ranks,
        predicted_s=simulated.time.value,
        measured_s=real.time.value,
        predicted=str(run.path.resolve()),
        measured=str(real.run.path.resolve()),
        doubts=_reasons(simulated, real),
    )
    return (pairs or Pairs()).add(pair)


def _reasons(simulated: Side, real: Side) -> tuple[str, ...]:
    """The reasons to doubt the prediction or the measurement, each once."""
    found = [doubt.reason for side in (simulated, real) for doubt in side.run.doubts]
    return tuple(dict.fromkeys(str(reason) for reason in found))


def _check_kinds(simulated: Side, real: Side) -> None:
    if simulated.run.machine_key is None:
        raise InputError("expected a simulated run as the prediction", path=str(simulated.run.path))
    if real.run.kind == Kind.SIMULATED or real.run.machine_key is not None:
        raise InputError(
            "expected a real run as the measurement, and this one is simulated",
            path=str(real.run.path),
            hint="sesame accuracy add PREDICTED MEASURED",
        )
