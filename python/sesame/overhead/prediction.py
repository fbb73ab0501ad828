"""What a node model predicts: a number for each replication, and estimates of the means."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from sesame.trust import Doubt, Estimate, Reason

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

CONFIDENCE = 0.95


def _figure(unit: str, meaning: str) -> Array:
    return field(metadata={"unit": unit, "meaning": meaning})  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Prediction:
    """Arrays with one value for each replication. Processor time, utilisation and blocked time are
    those of one node (the mean of the detailed ones), throughput is that of all nodes. NaN where a
    figure does not exist, such as the latency when nothing was received."""

    seconds: float
    seed: int
    responses: dict[str, Array]  # of each process class, mean time of a processor request, s
    completed: dict[str, Array]  # of each process class, requests per second and node
    classes_cpu: dict[str, Array]  # of each process class, processor time on a node, s
    daemon_cpu: Array = _figure("s", "processor time of the daemons of a node")
    main_cpu: Array = _figure("s", "processor time of the main process")
    application_cpu: Array = _figure("s", "processor time of the application on a node, own work")
    writing_cpu: Array = _figure("s", "processor time of the application to write samples")
    other_cpu: Array = _figure("s", "processor time of other processes of a node")
    throughput: Array = _figure("samples/s", "samples that the daemons forwarded")
    received: Array = _figure("samples/s", "samples that the main process received")
    messages: Array = _figure("1/s", "messages that the daemons forwarded")
    latency_mean: Array = _figure(
        "s", "from writing a sample until the main process has received it, mean"
    )
    latency_p99: Array = _figure("s", "the same, 99th percentile")
    slowdown: Array = _figure("", "further time that the application needs, as a share")
    blocked: Array = _figure("s", "time for which processes of a node waited on full pipes")
    missed: Array = _figure("1/s", "sampling periods of a node that passed without a sample")
    lost: Array = _figure("1/s", "samples of a daemon's timer that found its buffer full")
    processor_utilisation: Array = _figure("", "of a node's processors, as a share")
    network_utilisation: Array = _figure("", "of a node's network, as a share")
    disk_utilisation: Array = _figure("", "of a node's disks, as a share")
    main_load: Array = _figure("", "processor time that messages need, of what there is")
    main_network_load: Array = _figure("", "the same of the main process's network")
    waiting: Array = _figure("", "requests of a node that were not done at the end")
    events: Array = _figure("", "events simulated")
    doubts: tuple[Doubt, ...] = ()

    @property
    def replications(self) -> int:
        return len(self.events)

    @property
    def is_steady(self) -> bool:
        """Whether no queue grew for ever: else means depend on the simulated time."""
        return all(doubt.reason != Reason.MODEL_LIMIT for doubt in self.doubts)

    def estimate(self, figure: str, confidence: float = CONFIDENCE) -> Estimate:
        """The mean of a figure over the replications with its confidence interval."""
        return mean_of(getattr(self, figure), confidence, self.doubts)

    def as_json(self, confidence: float = CONFIDENCE) -> dict[str, object]:
        figures = {
            name: self.estimate(name, confidence).as_json() | {"unit": unit, "meaning": meaning}
            for name, (unit, meaning) in FIGURES.items()
        }
        return {
            "seconds": self.seconds,
            "replications": self.replications,
            "seed": self.seed,
            "steady": self.is_steady,
            "doubts": [doubt.as_json() for doubt in self.doubts],
            "figures": figures,
        }


# Unit and meaning of each figure of a Prediction.
FIGURES: dict[str, tuple[str, str]] = {
    one.name: (one.metadata["unit"], one.metadata["meaning"])
    for one in fields(Prediction)
    if "unit" in one.metadata
}


def mean_of(values: Array, confidence: float, doubts: Iterable[Doubt] = ()) -> Estimate:
    """The mean of independent values with the interval of Student's t distribution. NaN are left
    out. One value has no interval: it is infinite, and a doubt says so."""
    known = [float(value) for value in values if not math.isnan(value)]
    found = list(doubts)
    count = len(known)
    if count == 0:
        return Estimate(math.nan, math.nan, math.nan, 0, tuple(found))
    mean = math.fsum(known) / count
    if count == 1:
        text = "one replication has no confidence interval"
        found.append(Doubt(Reason.FEW_SAMPLES, text, "simulate at least 2 replications"))
        return Estimate(mean, -math.inf, math.inf, 1, tuple(found))
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in known) / (count - 1))
    half = student_quantile((1 + confidence) / 2, count - 1) * deviation / math.sqrt(count)
    return Estimate(mean, mean - half, mean + half, count, tuple(found))


def student_quantile(probability: float, degrees: int) -> float:
    """The quantile of Student's t distribution, for probabilities above 1/2: bisection of its
    distribution function (Abramowitz and Stegun, 26.7.3 and 26.7.4, exact finite sums)."""
    low, high = 0.0, 1.0
    while _student_cdf(high, degrees) < probability:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _student_cdf(middle, degrees) < probability else (low, middle)
    return (low + high) / 2


def _student_cdf(t: float, degrees: int) -> float:
    """Of t >= 0."""
    angle = math.atan2(t, math.sqrt(degrees))
    cosine2 = math.cos(angle) ** 2
    is_odd = degrees % 2 == 1
    term = math.cos(angle) if is_odd else 1.0
    total = term if degrees > 1 else 0.0
    for k in range(3 if is_odd else 2, degrees - 1, 2):
        term *= cosine2 * (k - 1) / k
        total += term
    inside = math.sin(angle) * total
    if is_odd:
        inside = (angle + inside) * 2 / math.pi
    return (1 + inside) / 2
