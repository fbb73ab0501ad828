"""Speed of the simulation of measured nodes (`sesame.overhead`), and the ratio to SimPy.

Prints events per second and core; the time of a factorial design (16 experiments, 50 repetitions of
100 s); the ratio to the same model in SimPy, when SimPy is installed; the time of 1,000 nodes with
one main process; and of 10,000 nodes of which 100 are simulated one by one, with the error that
this makes where it can be known, at 1,000 nodes.

    python bench/rocc_rate.py [--quick]
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import math
import random
import time
from collections.abc import Generator
from importlib.util import find_spec
from typing import Any

from sesame.overhead import NodeModel, Prediction, parse_distribution, predict, read_model

Steps = Generator[Any, Any, None]
LEVELS = {
    "sampling_period": ("5ms", "50ms"),
    "processes": (1, 32),
    "instrumentation_period": ("10s", "100s"),
    "policy": ("forward", "batch"),
}


def rate(seconds: float) -> None:
    predict(read_model("paradyn"), 1, 1)  # imports
    for processes, policy in itertools.product(LEVELS["processes"], LEVELS["policy"]):
        settings = {"sampling_period": "5ms", "processes": processes, "policy": policy}
        model = read_model("paradyn").with_settings(settings)
        begin = time.process_time()
        found = predict(model, seconds, 10, workers=1, slowdown=False)
        used = time.process_time() - begin
        million = found.events.sum() / used / 1e6
        print(f"{processes:3} processes, {policy:7}: {million:5.1f} million events/s and core")


def design(replications: int) -> None:
    begin = time.perf_counter()
    events = 0.0
    for values in itertools.product(*LEVELS.values()):
        settings = dict(zip(LEVELS, values, strict=True))
        found = predict(read_model("paradyn").with_settings(settings), 100, replications)
        events += found.events.sum()
    seconds = time.perf_counter() - begin
    print(
        f"16 experiments x {replications} x 100 s: {seconds:.1f} s, {events / 1e6:.0f} million "
        "events, and those without instrumentation"
    )


class SimpyNode:
    """The shipped model with a period of 5 ms and collect-and-forward, in SimPy. Only what this
    setting uses is written; the random numbers are Python's own."""

    PERIOD = 5e-3
    QUANTUM = 10e-3

    def __init__(self, processes: int, seed: int) -> None:
        import simpy

        self.numbers = random.Random(seed)
        self.environment = simpy.Environment()
        self.processor = simpy.Resource(self.environment)
        self.network = simpy.Resource(self.environment)
        self.pipe = simpy.Store(self.environment)
        self.processes = processes
        self.forwarded = 0
        for _ in range(processes):
            self.environment.process(self.application())
        self.environment.process(self.daemon())
        self.environment.process(self.arrivals(6485e-6, 294e-6, 206e-6, 58e-6))
        self.environment.process(self.arrivals(31485e-6, 367e-6, 819e-6, 0))

    def exponential(self, mean: float) -> float:
        return self.numbers.expovariate(1 / mean)

    def lognormal(self, mean: float, deviation: float) -> float:
        variance = math.log1p((deviation / mean) ** 2)
        return self.numbers.lognormvariate(math.log(mean) - variance / 2, math.sqrt(variance))

    def handling(self) -> float:
        return self.exponential(108e-6) + 1.7e-6 * self.processes + self.exponential(157.3e-6)

    def compute(self, length: float) -> Steps:
        while length > 0:
            with self.processor.request() as turn:
                yield turn
                runs = min(length, self.QUANTUM)
                yield self.environment.timeout(runs)
            length -= runs

    def send(self, length: float) -> Steps:
        with self.network.request() as turn:
            yield turn
            yield self.environment.timeout(length)

    def application(self) -> Steps:
        due = self.numbers.random() * self.PERIOD
        while True:
            yield from self.compute(self.lognormal(2213e-6, 3034e-6))
            now = self.environment.now
            if now >= due:
                due += (int((now - due) / self.PERIOD) + 1) * self.PERIOD
                yield self.pipe.put(now)
            yield from self.send(self.exponential(223e-6))

    def daemon(self) -> Steps:
        """Keeps the processor for its quantum while there are samples."""
        need = 0.0
        while True:
            if need == 0:
                yield self.pipe.get()
                need = self.handling()
            with self.processor.request() as turn:
                yield turn
                left = self.QUANTUM
                while need > 0 and left > 0:
                    runs = min(need, left)
                    yield self.environment.timeout(runs)
                    need, left = need - runs, left - runs
                    if need > 0:
                        continue
                    self.environment.process(self.send(self.exponential(71e-6)))
                    self.forwarded += 1
                    if self.pipe.items:
                        yield self.pipe.get()
                        need = self.handling()

    def request(self, cpu: float, sent: float) -> Steps:
        yield from self.compute(cpu)
        yield from self.send(sent)

    def arrivals(self, interval: float, mean: float, deviation: float, sent: float) -> Steps:
        while True:
            yield self.environment.timeout(self.exponential(interval))
            length = self.lognormal(mean, deviation)
            self.environment.process(self.request(length, self.exponential(sent) if sent else 0))


def against_simpy(seconds: float) -> None:
    if find_spec("simpy") is None:
        print("SimPy is not installed: pip install simpy")
        return
    for processes in (1, 32):
        settings = {"sampling_period": "5ms", "processes": processes}
        model = read_model("paradyn").with_settings(settings)
        begin = time.process_time()
        found = predict(model, seconds, 10, workers=1, slowdown=False)
        ours = (time.process_time() - begin) / 10
        begin = time.process_time()
        node = SimpyNode(processes, 1)
        node.environment.run(until=seconds)
        ratio = (time.process_time() - begin) / ours
        print(
            f"SimPy, {processes:2} processes: {ratio:.0f} times as long; samples/s "
            f"{node.forwarded / seconds:.1f}, here {found.throughput.mean():.1f}"
        )


def cluster(nodes: int, detailed: int | None) -> NodeModel:
    """Nodes in batches, with a main process that can just keep up with them."""
    model = read_model("paradyn").with_settings(
        {"nodes": nodes, "detailed_nodes": detailed or "none", "policy": "batch"}
    )
    cpu = parse_distribution(f"exponential({0.7 / (nodes * 20 / 32) * 1e6}us)")
    main = dataclasses.replace(model.main, cpu=cpu, network=parse_distribution("0s"))
    return dataclasses.replace(model, main=main)


def many_nodes(seconds: float) -> None:
    def timed(nodes: int, detailed: int | None) -> Prediction:
        begin = time.perf_counter()
        found = predict(cluster(nodes, detailed), seconds, 2, slowdown=False)
        shown = f"{nodes} nodes" + (f", {detailed} of them in detail" if detailed else "")
        taken = (time.perf_counter() - begin) / 2
        print(
            f"{shown}: {taken:.1f} s for {seconds:g} s; load of the main process "
            f"{found.main_load.mean():.3f}, latency {found.latency_mean.mean():.4f} s, "
            f"99 % {found.latency_p99.mean():.4f} s"
        )
        return found

    every, few = timed(1000, None), timed(1000, 100)
    for figure in ("throughput", "main_load", "latency_mean", "latency_p99"):
        error = getattr(few, figure).mean() / getattr(every, figure).mean() - 1
        print(f"  error of {figure} with a tenth of the nodes in detail: {error:+.2%}")
    timed(10_000, 100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the simulated time")
    quick = parser.parse_args().quick
    rate(10 if quick else 100)
    design(5 if quick else 50)
    against_simpy(10 if quick else 100)
    many_nodes(10 if quick else 100)


if __name__ == "__main__":
    main()
