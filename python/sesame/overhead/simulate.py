"""Simulates a node model: independent replications, in parallel over processors.

Replication i of a seed has the same random numbers whatever the settings (core/rocc), so that two
settings are compared under the same load, and the result does not depend on the number of workers.
"""

from __future__ import annotations

import math
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sesame.errors import InputError
from sesame.overhead.distributions import MOST_SECONDS
from sesame.overhead.model import BATCH, NO_PERIOD_HINT, NodeModel
from sesame.overhead.native_model import plain_model
from sesame.overhead.prediction import Prediction
from sesame.trust import Doubt, Reason

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_REPLICATIONS = 100_000
MOST_EVENTS = 1e12  # of a replication: a day
MOST_WAITING = 1e7  # requests, some 100 bytes each, in each of the workers
# A replication is simulated in steps of about a second, between which Ctrl-C ends it.
_EVENTS_OF_STEP = 5e6
# Load of a queue from which no steady state exists, less what a finite run can show by chance.
_FULL = 0.98
_KEPT_BASELINES = 64
NETWORK = "the node's network"
# Unless the time is given: at least so long, and long enough for so many messages of each daemon.
LEAST_SECONDS, MESSAGES = 100.0, 50
LONGEST_CHOSEN = 1e6
# With fewer messages of a daemon, what the run begins and ends in the middle of counts too much.
_FEW_MESSAGES = 20


@dataclass(frozen=True)
class Run:
    """How long and how often to simulate."""

    seconds: float
    warm_up: float
    replications: int
    seed: int


def predict(
    model: NodeModel,
    seconds: float | None = None,
    replications: int = 50,
    seed: int = 1,
    workers: int | None = None,
    *,
    warm_up: float = 0.0,
    slowdown: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Prediction:
    """Simulates `seconds` of the model, counted after `warm_up`, `replications` times. None: 100 s,
    or longer where daemons send seldom (`chosen_seconds`).

    The slowdown compares with the same node without instrumentation and the same random numbers;
    `slowdown=False` leaves it out (NaN), which halves the time. `progress` is called with the
    number of finished replications. Raises InputError for settings out of range.
    """
    if seconds is None:
        seconds = chosen_seconds([model])
        warm_up = max(warm_up, _settling(model, seconds))
    run = _checked(seconds, warm_up, replications, seed)
    workers = os.cpu_count() or 1 if workers is None else workers
    if workers < 1:
        raise InputError(f"workers: expected at least 1, got {workers}")
    found = _simulate_all(model, run, workers, progress)
    own = [_application_cpu(model, nodes) for nodes, _ in found]
    bare = _baseline(model, run, workers) if slowdown and model.is_instrumented else own
    return _prediction(model, run, found, bare if slowdown else None)


def chosen_seconds(models: Sequence[NodeModel]) -> float:
    """Long enough for all of these, which are compared."""
    intervals = [model.message_interval or 0.0 for model in models]
    return min(max(LEAST_SECONDS, MESSAGES * max(intervals)), LONGEST_CHOSEN)


def _settling(model: NodeModel, seconds: float) -> float:
    """Until the first batches are full, where that matters."""
    interval = model.message_interval or 0.0
    return interval if seconds > LEAST_SECONDS else 0.0


def _checked(seconds: float, warm_up: float, replications: int, seed: int) -> Run:
    if not 0 < seconds <= MOST_SECONDS:
        raise InputError(f"seconds: expected a time of up to {MOST_SECONDS:g} s, got {seconds:g}")
    if not 0 <= warm_up <= MOST_SECONDS:
        raise InputError(f"warm_up: expected a time of up to {MOST_SECONDS:g} s, got {warm_up:g}")
    if not 1 <= replications <= MOST_REPLICATIONS:
        raise InputError(f"replications: expected 1 to {MOST_REPLICATIONS}, got {replications}")
    if not 0 <= seed < 2**64:
        raise InputError(f"seed: expected a whole number from 0 to 2^64 - 1, got {seed}")
    return Run(seconds, warm_up, replications, seed)


Statistics = tuple[list[dict[str, Any]], dict[str, Any]]


def _simulate_all(
    model: NodeModel, run: Run, workers: int, progress: Callable[[int], None] | None = None
) -> list[Statistics]:
    """The statistics of each replication (core/bindings/rocc.cc). Ctrl-C ends all of them."""
    plain = plain_model(model)
    steps = _steps(model, run)
    stop = threading.Event()
    pool = ThreadPoolExecutor(min(workers, run.replications))
    try:
        futures = [
            pool.submit(_simulate_one, plain, run, replication, steps, stop)
            for replication in range(run.replications)
        ]
        found = []
        for future in futures:
            found.append(future.result())
            if progress is not None:
                progress(len(found))
        return found
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _steps(model: NodeModel, run: Run) -> int:
    """Into how many steps to divide a replication. Raises InputError for one without end."""
    rate = 0.0
    for process in model.processes:
        parts = (process.cpu, process.network, process.disk, process.pause)
        cycle = process.interarrival.mean if process.interarrival else sum(p.mean for p in parts)
        rate += 4 * process.count / cycle
    node = model.node
    slice_ = node.granularity if node.scheduler == "fair" else node.quantum
    rate += node.processors / slice_  # at most: only where more tasks are ready than processors
    _check_queues(model, run)
    if model.daemon.source == "timer":
        rate += 4 * model.daemon.daemons / (model.instrumentation.sampling_period or math.inf)
    events = rate * model.detailed_nodes * (run.warm_up + run.seconds)
    if events > MOST_EVENTS:
        raise InputError(
            f"a replication would have up to {events:.0e} events, expected at most "
            f"{MOST_EVENTS:.0e}; simulate less time or fewer nodes in detail"
        )
    return 1 + int(events / _EVENTS_OF_STEP)


def _check_queues(model: NodeModel, run: Run) -> None:
    """Raises InputError if what arrives would fill the memory with waiting requests."""
    load = max(_arriving_loads(model).values())
    arriving = sum(p.count / p.interarrival.mean for p in model.processes if p.interarrival)
    left = arriving * model.detailed_nodes * (run.warm_up + run.seconds) * (1 - 1 / max(load, 1))
    if left > MOST_WAITING:
        raise InputError(
            f"the load by what arrives is {load:.4g}, and {left:.0e} requests would wait at the "
            f"end, expected at most {MOST_WAITING:.0e}; simulate less time, or let less arrive"
        )


def _simulate_one(
    plain: dict[str, object], run: Run, replication: int, steps: int, stop: threading.Event
) -> Statistics:
    from sesame import native

    end = run.warm_up + run.seconds
    simulation = native.OccupancySimulation(plain, run.seed, replication, run.warm_up, end)
    for step in range(1, steps + 1):
        if stop.is_set():
            break
        simulation.advance(end * step / steps if step < steps else end)
    statistics: Statistics = simulation.statistics()
    return statistics


def _application_classes(model: NodeModel) -> list[int]:
    """The instrumented classes; where there are none, all that are processes."""
    numbered = list(enumerate(model.processes))
    instrumented = [number for number, process in numbered if process.instrumented]
    return instrumented or [n for n, process in numbered if process.interarrival is None]


def _application_cpu(model: NodeModel, nodes: Sequence[dict[str, Any]]) -> float:
    """Own work of the application on a node, s."""
    chosen = _application_classes(model)
    total = math.fsum(node["classes"][number]["own_cpu"] for node in nodes for number in chosen)
    return total / len(nodes)


_baselines: OrderedDict[tuple[NodeModel, tuple[int, ...], Run], list[float]] = OrderedDict()
_baselines_lock = threading.Lock()


def _baseline(model: NodeModel, run: Run, workers: int) -> list[float]:
    """The application's own work without instrumentation in each replication. Kept, since the
    experiments of a design differ in instrumentation and share it."""
    bare = model.without_instrumentation()
    key = (bare, tuple(_application_classes(model)), run)
    with _baselines_lock:
        if key in _baselines:
            return _baselines[key]
    found = [_application_cpu(model, nodes) for nodes, _ in _simulate_all(bare, run, workers)]
    with _baselines_lock:
        _baselines[key] = found
        while len(_baselines) > _KEPT_BASELINES:
            _baselines.popitem(last=False)
    return found


def _prediction(
    model: NodeModel, run: Run, found: list[Statistics], bare: list[float] | None
) -> Prediction:
    import numpy as np

    rows = [_figures(model, run, nodes, main) for nodes, main in found]
    columns: dict[str, Any] = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    own = columns["application_cpu"]
    columns["slowdown"] = (
        np.full(len(rows), np.nan) if bare is None else _slowdown(np.array(bare), own)
    )
    classes = {process.name: number for number, process in enumerate(model.processes)}
    of_classes: dict[str, Any] = {
        figure: {
            name: np.array([_of_class(nodes, number, figure, run) for nodes, _ in found])
            for name, number in classes.items()
        }
        for figure in ("responses", "completed", "classes_cpu")
    }
    doubts = _doubts(model, columns, run, _sending_load(model, run, found))
    return Prediction(run.seconds, run.seed, **columns, **of_classes, doubts=doubts)


def _slowdown(bare: NDArray[np.float64], own: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        return bare / own - 1


def _figures(
    model: NodeModel, run: Run, nodes: list[dict[str, Any]], main: dict[str, Any]
) -> dict[str, float]:
    def mean(key: str) -> float:
        return math.fsum(node[key] for node in nodes) / len(nodes)

    chosen = set(_application_classes(model))

    def of_application(key: str) -> float:
        values = (node["classes"][number][key] for node in nodes for number in chosen)
        return math.fsum(values) / len(nodes)

    seconds, node = run.seconds, model.node
    classes = range(len(model.processes))
    other = (n["classes"][i]["own_cpu"] for n in nodes for i in classes if i not in chosen)
    return {
        "daemon_cpu": mean("daemon_cpu"),
        "main_cpu": main["cpu"],
        "application_cpu": of_application("own_cpu"),
        "writing_cpu": of_application("writing_cpu"),
        "other_cpu": math.fsum(other) / len(nodes),
        "throughput": mean("forwarded_samples") * node.nodes / seconds,
        "received": main["samples"] / seconds,
        "messages": mean("forwarded_messages") * node.nodes / seconds,
        "latency_mean": main["latency_mean"],
        "latency_p99": main["latency_p99"],
        "blocked": of_application("blocked"),
        "missed": of_application("missed") / seconds,
        "lost": mean("lost") / seconds,
        "processor_utilisation": mean("processors_busy") / (seconds * node.processors),
        "network_utilisation": mean("network_busy") / (seconds * node.network_channels),
        "disk_utilisation": mean("disk_busy") / (seconds * node.disk_channels),
        "main_load": main["requested_cpu"] / seconds,
        "main_network_load": main["requested_network"] / seconds,
        "waiting": mean("waiting"),
        "events": math.fsum(node["events"] for node in nodes),
    }


def _of_class(nodes: list[dict[str, Any]], number: int, figure: str, run: Run) -> float:
    sums = [node["classes"][number] for node in nodes]
    completed = sum(one["completed"] for one in sums)
    if figure == "completed":
        return float(completed / len(nodes) / run.seconds)
    if figure == "classes_cpu":
        return math.fsum(one["own_cpu"] + one["writing_cpu"] for one in sums) / len(nodes)
    return math.fsum(one["response"] for one in sums) / completed if completed else math.nan


def _sending_load(model: NodeModel, run: Run, found: list[Statistics]) -> float:
    """Load of a node's network by the messages that its daemons have to send: a daemon that does
    not wait for the network queues them."""
    if model.daemon.waits_for_network:
        return 0.0
    every = [node for nodes, _ in found for node in nodes]
    collected, samples, messages = (
        math.fsum(node[key] for node in every)
        for key in ("collected", "forwarded_samples", "forwarded_messages")
    )
    sent = collected * messages / samples if samples else 0.0
    rate = sent / len(every) / run.seconds
    return rate * model.daemon.network.mean / model.node.network_channels


def _doubts(
    model: NodeModel, columns: dict[str, Any], run: Run, sending: float
) -> tuple[Doubt, ...]:
    """A doubt for each queue that grows for ever, with its load; and for what was left out."""
    arriving = _arriving_loads(model)
    arriving[NETWORK] += sending
    loads = {
        "the main process's processor": float(columns["main_load"].mean()),
        "the main process's network": float(columns["main_network_load"].mean()),
        **arriving,
    }
    doubts = [
        Doubt(
            Reason.MODEL_LIMIT,
            f"no steady state: the load of {queue} is {load:.2f}, so its queue grows",
            "figures depend on the simulated time; reduce what arrives",
        )
        for queue, load in loads.items()
        if load >= _FULL
    ]
    lost = float(columns["lost"].mean())
    if lost > 0:
        text = f"no steady state: the daemon cannot keep up and loses {lost:.4g} samples/s"
        if (load := _timer_load(model)) is not None:
            text = f"{text} (load {load:.2f})"
        hint = "sample less often, or send larger batches"
        doubts.append(Doubt(Reason.MODEL_LIMIT, text, hint))
    if model.instrumented_processes and not model.instrumentation.is_on:
        text = "nothing is sampled: the model has no sampling_period and no records_per_request"
        doubts.append(Doubt(Reason.INCOMPLETE_INPUT, text, NO_PERIOD_HINT))
    sent = float(columns["messages"].mean()) * run.seconds / model.node.nodes / model.daemon.daemons
    if model.message_interval is not None and sent < _FEW_MESSAGES:
        text = (
            f"a daemon sends {sent:.3g} messages in {run.seconds:g} s, so they count in part only"
        )
        longer = f"simulate at least {MESSAGES * model.message_interval:.4g} s"
        doubts.append(Doubt(Reason.FEW_SAMPLES, text, longer))
    if run.replications == 1:
        text = "one replication has no confidence interval"
        doubts.append(Doubt(Reason.FEW_SAMPLES, text, "simulate at least 2 replications"))
    return tuple(doubts)


def _timer_load(model: NodeModel) -> float | None:
    """Processor time that a daemon's timer asks of it, of what there is."""
    daemon, period = model.daemon, model.instrumentation.sampling_period
    if daemon.source != "timer" or period is None:
        return None
    batch = daemon.batch_size if daemon.policy == BATCH else 1
    return (daemon.collect.mean + daemon.poll.mean + daemon.forward.mean / batch) / period


def _arriving_loads(model: NodeModel) -> dict[str, float]:
    """Load of each resource of a node by the requests that arrive, whatever it does with them."""
    loads = dict.fromkeys(("cpu", "network", "disk"), 0.0)
    for process in model.processes:
        if process.interarrival is None:
            continue
        for resource in loads:
            need: float = getattr(process, resource).mean
            loads[resource] += process.count * need / process.interarrival.mean
    node = model.node
    servers = {
        "cpu": ("the node's processors", node.processors),
        "network": (NETWORK, node.network_channels),
        "disk": ("the node's disks", node.disk_channels),
    }
    return {servers[name][0]: load / servers[name][1] for name, load in loads.items()}
