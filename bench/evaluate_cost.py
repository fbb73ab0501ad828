"""What `sesame evaluate` itself costs: processor time of a check, the start of the command, and the
time to compile, run and verify a program in C. Beside it ReFrame 4, if `reframe` is installed
(`pip install reframe-hpc`).

A check runs /bin/true. Its cost is that of a run of MANY checks less that of a run of one, so that
starting is not in it; the command itself, its supervisor, and storing the result are. Prints
figures; never passes or fails.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MANY, TIMES, COMPILED = 41, 7, 21
SESAME = [sys.executable, "-m", "sesame"]
PROBE = """
[probe.p{number}]
target = "here"
interval = "365d"
[[probe.p{number}.step]]
command = ["/bin/true"]
timeout = "10s"
"""
HELLO = """
[target.here]
[probe.hello]
target = "here"
interval = "365d"
files = { "hello.c" = '''#include <stdio.h>
int main(void) { return puts("Hello World") < 0; }''' }
[[probe.hello.step]]
command = ["cc", "-o", "hello", "hello.c"]
timeout = "60s"
[[probe.hello.step]]
command = ["./hello"]
timeout = "60s"
pattern = "^Hello World$"
"""
SUITE = """
import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class Check(rfm.RunOnlyRegressionTest):
    number = parameter(range({count}))
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "/bin/true"

    @sanity_function
    def check(self):
        return sn.assert_eq(self.job.exitcode, 0)
"""


def cost(command: list[str], directory: Path) -> tuple[float, float]:
    """Processor time of a command and its children, and its time, s."""
    before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "RFM_PREFIX": str(directory)}
    subprocess.run(command, cwd=directory, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, time.perf_counter() - clock


def sesame(directory: Path, count: int) -> list[str]:
    """A command that runs `count` checks; none if `count` is 0, as nothing is due then."""
    name = f"{count}.toml"
    if not (directory / name).exists():
        probes = "".join(PROBE.format(number=number) for number in range(max(count, 1)))
        (directory / name).write_text(f"[target.here]\n{probes}")
    if count:
        (directory / f"{count}.db").unlink(missing_ok=True)
    return [*SESAME, "evaluate", "run", name]


def reframe(directory: Path, count: int) -> list[str]:
    (directory / f"suite{count}.py").write_text(SUITE.format(count=count))
    action = ["-r"] if count else ["-l"]
    return ["reframe", "-c", f"suite{max(count, 1)}.py", *action]


def measure(directory: Path) -> None:
    frameworks = {"sesame": sesame}
    if shutil.which("reframe"):
        frameworks["reframe"] = reframe
    else:
        print("reframe is not installed: pip install reframe-hpc")
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for name, make in frameworks.items():
        cost(make(directory, 1), directory)
        if name == "sesame":
            cost(make(directory, 0), directory)  # after that nothing is due
    for _ in range(TIMES):  # in turn, so that other work on the machine affects all alike
        for count in (0, 1, MANY):
            for name, make in frameworks.items():
                found.setdefault((name, count), []).append(cost(make(directory, count), directory))
    checks = {}
    for name in frameworks:
        spent = {c: statistics.median(one[0] for one in found[name, c]) for c in (0, 1, MANY)}
        start = statistics.median(one[1] for one in found[name, 0])
        checks[name] = (spent[MANY] - spent[1]) / (MANY - 1)
        print(
            f"{name}: a check {1e3 * checks[name]:.1f} ms of processor time; start without a check "
            f"{start:.3f} s, {spent[0]:.3f} s of processor time"
        )
    if "reframe" in checks:
        print(f"reframe over sesame, a check: {checks['reframe'] / checks['sesame']:.1f}")


def compile_and_run(directory: Path) -> None:
    from sesame.evaluation.probing import Outcome, run_probe
    from sesame.evaluation.site import read_site

    (directory / "hello.toml").write_text(HELLO)
    probe = read_site(directory / "hello.toml").probes["hello"]
    results = [run_probe(probe, {}).results[0] for _ in range(COMPILED)]
    assert all(one.outcome is Outcome.PASS for one in results), results
    times = [one.took for one in results]
    bare = statistics.median(bare_compile(directory) for _ in range(COMPILED))
    print(
        f"compile, run and verify in C: {1e3 * statistics.median(times):.1f} ms, least "
        f"{1e3 * min(times):.1f} ms; the compiler and the program alone {1e3 * bare:.1f} ms"
    )


def bare_compile(directory: Path) -> float:
    (directory / "hello.c").write_text('#include <stdio.h>\nint main(void){puts("Hello");}\n')
    began = time.perf_counter()
    subprocess.run(["cc", "-o", "hello", "hello.c"], cwd=directory, check=True)
    subprocess.run(["./hello"], cwd=directory, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        compile_and_run(Path(directory))
        measure(Path(directory))


if __name__ == "__main__":
    main()
