"""Runs a step as a job of a batch system, from its submission to its end.

The job is driven by a process of its own (`jobs`), so that the supervisor of `processes` ends it
like any command: at SIGTERM the driver cancels the job.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sesame.evaluation.probing import Figure
from sesame.evaluation.processes import Ended, run_command
from sesame.evaluation.site import Probe, Step

SLACK_S = 120.0  # for the commands of the batch system, each of which may take 30 s
OUTCOME = "sesame-job-outcome"  # a file in the directory of the probe


@dataclass(frozen=True)
class JobOutcome:
    """What the driver found out about a job."""

    exit_status: int | None
    problem: str
    is_ours: bool  # nothing is known of the machine
    queued_s: float
    left_behind: bool


def run_job(
    probe: Probe,
    step: Step,
    directory: Path,
    environment: Mapping[str, str],
    figures: list[Figure],
) -> Ended:
    """Adds the time in the queue to the figures."""
    queue = probe.target.queue
    assert queue is not None
    time_limit = queue.limit + step.timeout + SLACK_S
    command = [sys.executable, "-m", "sesame.evaluation.jobs", json.dumps(_request(probe, step))]
    ended = run_command(command, directory, time_limit, environment, probe.user)
    try:
        outcome = JobOutcome(**json.loads((directory / OUTCOME).read_text()))
    except (OSError, ValueError, TypeError):
        if ended.problem:
            return ended
        return replace(ended, problem="the job's driver ended without an answer", is_ours=True)
    figures.append(Figure(f"{step.name}: time in the queue", outcome.queued_s, "s"))
    return Ended(
        outcome.exit_status,
        ended.problem or outcome.problem,
        ended.output,
        int(outcome.left_behind),
        ended.processor_s,
        ended.is_ours or outcome.is_ours,
    )


def _request(probe: Probe, step: Step) -> dict[str, Any]:
    """All that the driver needs, its words filled in but for {job} and {script}."""
    target = probe.target
    if step.ranks:
        target = replace(target, ranks=step.ranks)
    queue = target.queue
    assert queue is not None
    seconds = int(step.timeout) + 1
    values = {
        "name": f"sesame-{probe.name}",
        "seconds": str(seconds),
        "minutes": str(-(-seconds // 60)),
    }
    return {
        "command": target.filled((*queue.start, *step.command)),
        "submit": target.filled(queue.submit, **values),
        "job": queue.job.pattern,
        "state": target.filled(queue.state),
        "waiting": queue.waiting.pattern,
        "running": queue.running.pattern,
        "unavailable": queue.unavailable.pattern if queue.unavailable else None,
        "gone": queue.gone.pattern if queue.gone else None,
        "nodes": target.filled(queue.nodes),
        "cancel": target.filled(queue.cancel),
        "limit": queue.limit,
        "timeout": step.timeout,
    }


def write_outcome(outcome: JobOutcome) -> None:
    Path(OUTCOME).write_text(json.dumps(asdict(outcome)))
