"""Drives one job of a batch system: submits it, waits for its start and its end, cancels it.

`python -m sesame.evaluation.jobs REQUEST` (JSON, see `launchers`) runs in the directory of a probe.
Prints the job's output; how it ended goes to a file.
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from sesame.evaluation.launchers import JobOutcome, write_outcome
from sesame.evaluation.probing import MAINTENANCE

SCRIPT, STATUS, STARTED, OUTPUT = (f"sesame-job-{n}" for n in ("script", "status", "began", "out"))
MOST_OUTPUT_BYTES = 64 << 20
ANSWER_S = 30.0  # that a command of the batch system may take
POLL_S = (0.1, 10.0)  # the first and the longest wait between two questions
FACTOR = 1.3  # from one wait to the next
UNKNOWN = 3  # answers in a row that name neither state, until the job counts as ended
# For which answers must be refused until the job counts as ended, if there is no pattern `gone`: a
# batch system that restarts refuses them too.
REFUSED_S = 10.0
# A reason of Slurm that leaves open whether nodes are down or jobs of a higher priority have them.
NODES_OR_PRIORITY = re.compile(r"Reason=Nodes_required_for_job_are_DOWN")
# A job of which Slurm knows that it would run into a reservation for maintenance.
BEFORE_MAINTENANCE = re.compile(r"Reason=\S*[Rr]eserved_for_maintenance\S*")
# States of nodes that answer (sinfo(1); `*` marks one that does not).
UP = re.compile(r"^(idle|mixed|allocated|completing|planned|reserved)[^*\n]*$", re.M)
# A job that was ended, and what its command may leave then: the signals reach its processes one
# after the other, so that the script may still write that its command was ended (scancel(1)).
CANCELLED = re.compile(r"JobState=CANCELLED")
# A job that has ended or was ended, and has not left its nodes: processes or an epilog run there
# (squeue(1)).
COMPLETING = re.compile(r"JobState=COMPLETING")
ENDED_BY_OTHERS = (128 + signal.SIGTERM, 128 + signal.SIGKILL)
NETWORK_S = 5.0  # until a file that another node wrote is seen here


class Job:
    """A job from its submission to its end."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._request = request
        self._submitted = time.monotonic()
        self._number = ""
        self._said = ""  # the last answer about its state
        self._unknown = 0
        self._unknown_since = 0.0  # when the first of the unknown answers came
        self._is_silent = False  # whether the batch system left the last question open

    def run(self) -> JobOutcome:
        self._write_script()
        problem = self._submit()
        if problem:
            return JobOutcome(None, problem, False, 0.0, False)
        problem, is_ours = self._wait_for_start()
        queued = time.monotonic() - self._submitted
        if problem:
            self.cancel()
            return JobOutcome(None, problem, is_ours, queued, False)
        problem, is_ours = self._wait_for_end()
        status = self._status()
        left = False
        if problem:
            self.cancel()
        elif status is not None:
            left = self._is_still_there()
            if not left and status in ENDED_BY_OTHERS and CANCELLED.search(self._said):
                status, problem = None, self._ended_early()
        _pass_on()
        return JobOutcome(status, problem, is_ours, queued, left)

    def cancel(self) -> None:
        if self._number:
            self._ask("cancel")
            self._number = ""

    def _write_script(self) -> None:
        """The status of the command, not of `head`, counts; `head` bounds the output."""
        words = shlex.join(self._request["command"])
        here = shlex.quote(str(Path.cwd()))
        Path(SCRIPT).write_text(
            f"#!/bin/sh\ncd {here} || exit 126\ndate > {STARTED}\n"
            f"{{ {words}; echo $? > {STATUS}.new; mv {STATUS}.new {STATUS}; }} 2>&1 < /dev/null "
            f"| head -c {MOST_OUTPUT_BYTES + 1} > {OUTPUT}\n"
        )
        Path(SCRIPT).chmod(0o700)

    def _submit(self) -> str:
        # SIGTERM waits, so that no job is left whose number is not known.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            return self._submitted_problem()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

    def _submitted_problem(self) -> str:
        done = self._ask("submit")
        if done is None or done.returncode != 0:
            said = "no answer" if done is None else _line(done.stderr or done.stdout)
            return f"the job cannot be submitted: {said}"
        found = re.search(self._request["job"], done.stdout, re.MULTILINE)
        if found is None:
            pattern = self._request["job"]
            return f"the answer to the submission, {_line(done.stdout)!r}, has no {pattern!r}"
        self._number = found[1]
        return ""

    def _wait_for_start(self) -> tuple[str, bool]:
        """What went wrong, and whether nothing is known of the machine then."""
        for _ in _waits():
            if Path(STARTED).exists() or self._status() is not None:
                return "", False
            state = self._state()
            if state == "running":
                return "", False
            if state == "ended":
                return self._killed(), False
            waited = time.monotonic() - self._submitted
            if waited > self._request["limit"]:
                pattern = self._request["unavailable"]
                down = re.search(pattern, self._said) if pattern else None
                if down is not None:
                    return f"job {self._number} cannot start, nodes are down: {down[0]}", False
                if NODES_OR_PRIORITY.search(self._said) and self._all_nodes_are_down():
                    said = _reason(self._said)
                    return f"job {self._number} cannot start, all nodes are down: {said}", False
                if BEFORE_MAINTENANCE.search(self._said):
                    said = _reason(self._said)
                    return f"{MAINTENANCE}job {self._number} waits for its end: {said}", True
                limit = self._request["limit"]
                said = f"the queue did not start job {self._number} within {limit:g} s"
                return f"{said}: {_reason(self._said)}", True
        raise AssertionError

    def _all_nodes_are_down(self) -> bool:
        done = self._ask("nodes") if self._request["nodes"] else None
        if done is None or done.returncode != 0:
            return False
        return bool(done.stdout.strip()) and not UP.search(done.stdout)

    def _wait_for_end(self) -> tuple[str, bool]:
        """What went wrong, and whether nothing is known of the machine then."""
        deadline = time.monotonic() + self._request["timeout"]
        for _ in _waits():
            if self._status() is not None:
                return "", False
            if _size(OUTPUT) > MOST_OUTPUT_BYTES:
                return f"it printed more than {MOST_OUTPUT_BYTES >> 20} MiB", False
            if self._state() == "ended":
                return self._killed(), False
            if time.monotonic() > deadline:
                return self._took_too_long(), self._is_silent
        raise AssertionError

    def _took_too_long(self) -> str:
        said = f"it took longer than {self._request['timeout']:g} s"
        if self._is_silent:
            return f"{said}, and the batch system does not answer: {_reason(self._said)}"
        if COMPLETING.search(self._said):
            ended = f"job {self._number} has ended and is still on a node"
            return f"{said}, and {ended}: {_reason(self._said)}"
        return said

    def _killed(self) -> str:
        """A job that is no more: its files may still be on their way."""
        deadline = time.monotonic() + NETWORK_S
        while time.monotonic() < deadline:
            if self._status() is not None:
                return ""
            time.sleep(POLL_S[0])
        return self._ended_early()

    def _ended_early(self) -> str:
        return f"job {self._number} ended before its command did: {_reason(self._said)}"

    def _state(self) -> str:
        """waiting, running, ended, or unknown. Silence of the batch system says nothing of a job:
        its files and time limits still end the wait."""
        done = self._ask("state")
        self._said = "no answer" if done is None else done.stdout + done.stderr
        gone = self._request["gone"]
        is_refused = done is None or done.returncode != 0
        self._is_silent = done is None or (
            is_refused and gone is not None and not re.search(gone, self._said, re.MULTILINE)
        )
        if done is None or self._is_silent:
            return "unknown"
        for state in () if is_refused else ("waiting", "running"):
            if re.search(self._request[state], done.stdout, re.MULTILINE):
                self._unknown = 0
                return state
        now = time.monotonic()
        self._unknown += 1
        if self._unknown == 1:
            self._unknown_since = now
        patience = REFUSED_S if is_refused and gone is None else 0.0
        is_sure = self._unknown >= UNKNOWN and now - self._unknown_since >= patience
        return "ended" if is_sure else "unknown"

    def _is_still_there(self) -> bool:
        """Whether the job continues after its command has ended; it is cancelled then."""
        deadline = time.monotonic() + NETWORK_S
        while self._state() in ("waiting", "running"):
            if time.monotonic() > deadline:
                self.cancel()
                return True
            time.sleep(POLL_S[0])
        return False

    def _status(self) -> int | None:
        with suppress(OSError, ValueError):
            return int(Path(STATUS).read_text())
        return None

    def _ask(self, what: str) -> subprocess.CompletedProcess[str] | None:
        values = {"{job}": self._number, "{script}": str(Path(SCRIPT).absolute())}
        words = [_filled(word, values) for word in self._request[what]]
        try:
            return subprocess.run(
                words,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=ANSWER_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            return None
        except OSError as error:
            said = f"{words[0]} cannot be started: {error.strerror}"
            return subprocess.CompletedProcess(words, 127, "", said)


def _filled(word: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(name, value)
    return word


def _waits() -> Any:
    """Sleeps between its values, longer and longer."""
    wait = POLL_S[0]
    while True:
        yield wait
        time.sleep(wait)
        wait = min(wait * FACTOR, POLL_S[1])


def _reason(said: str) -> str:
    """What a batch system says about a job, in short: Slurm's state and reason."""
    found = [*re.findall(r"\b(?:JobState|Reason)=\S+", said)]
    return ", ".join(found) if found else _line(said)


def _line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:300] if lines else "it says nothing"


def _size(name: str) -> int:
    try:
        return Path(name).stat().st_size
    except OSError:
        return 0


def _pass_on() -> None:
    """Prints the job's output; the supervisor keeps its begin and end."""
    with suppress(OSError), Path(OUTPUT).open("rb") as file:
        while data := file.read(1 << 16):
            sys.stdout.buffer.write(data)
    sys.stdout.flush()


def main() -> None:
    job = Job(json.loads(sys.argv[1]))

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
    try:
        write_outcome(job.run())
    except KeyboardInterrupt:
        job.cancel()
        sys.exit(1)


if __name__ == "__main__":
    main()
