"""What the links of the network carried in a simulated run: how busy each was over time, and with
whose messages. From the records of cards and links, if messages shared them; otherwise from those
of messages and fixed shortest routes (sesame.analysis.routes)."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from sesame.analysis.explain.records import IN_NODE, has_all_nodes, messages_of, network_of
from sesame.analysis.plots import Plot
from sesame.analysis.quantities import format_bytes, format_seconds
from sesame.analysis.routes import KINDS, Topology
from sesame.datasets import DataSet
from sesame.web.chart import Chart, time_unit

Array = np.ndarray[Any, Any]
BINS = 240
MOST_LINKS = 24  # in the picture
MOST_MESSAGES = 10_000_000  # what fits in memory and takes seconds
NAMED_LINKS, NAMED_PAIRS = 3, 3
BOTTLENECK = 0.5  # share of a link; one that was less busy in every period delays bursts alone
LEAST_KNOWN = 0.01  # of the bytes of a link, of a pair that is named if links were recorded
PS = 1e-12
NOT_SHOWN = (
    "No message went from node to node, there are too many to follow, or the program spawned "
    "ranks, whose nodes are not recorded."
)


@dataclass(frozen=True)
class LinkUse:
    """The busiest links, the one that is busy for longest first."""

    names: list[str]
    share: Array  # a row for each link: bytes in each period / bytes that it can carry in it
    bytes: Array
    period_s: float
    senders: list[list[tuple[int, int, int]]]  # ranks from, to, bytes; at least, if recorded
    topology: Topology
    all: list[tuple[int, int, float]]  # every link that carried anything: kind, number, mean share
    is_recorded: bool = False  # otherwise estimated from messages and fixed routes

    def peak(self, link: int) -> tuple[float, float]:
        """The largest share of a link and the time of it, s."""
        period = int(self.share[link].argmax())
        return float(self.share[link, period]), (period + 0.5) * self.period_s


@functools.lru_cache(maxsize=1)  # two views of a page need it
def link_use(data_set: DataSet, most: int = MOST_LINKS) -> LinkUse | None:
    """None if no message went from node to node, there are too many to follow, or the nodes of some
    ranks are not known."""
    if data_set.has("link"):
        return _recorded_use(data_set, most)
    if data_set.record_types["message"]["rows"] > MOST_MESSAGES or not has_all_nodes(data_set):
        return None
    network, model = network_of(data_set)
    messages = messages_of(data_set, network)
    between = np.flatnonzero((messages["flags"] & IN_NODE) == 0)
    if not len(between):
        return None
    nodes = np.array(network.nodes(), np.int64)
    source, destination = (messages[key][between].astype(np.int64) for key in _ENDS)
    size = messages["bytes"][between].astype(np.float64)
    topology = Topology(model)
    ends = nodes[source] * topology.nodes + nodes[destination]
    pairs, pair_of = np.unique(ends, return_inverse=True)
    step_pair, kind, number = topology.routes(pairs // topology.nodes, pairs % topology.nodes)
    link_keys, link_of = np.unique(kind * KINDS + number, return_inverse=True)
    kinds, numbers = link_keys // KINDS, link_keys % KINDS
    speed = np.array([topology.bytes_per_s(int(k)) for k in kinds])
    of_pair = np.bincount(pair_of, size, len(pairs))
    carried = np.bincount(link_of, of_pair[step_pair], len(link_keys))
    chosen = np.argsort(-carried / speed, kind="stable")[:most]

    end_s = float(data_set.info["result"]["predicted_time_s"])
    period_s = end_s / BINS
    when = _periods(messages, between, period_s)
    mean = carried / (speed * end_s)
    shares, senders = [], []
    for link in chosen:
        passes = np.zeros(len(pairs), bool)
        passes[step_pair[link_of == link]] = True
        mine = passes[pair_of]
        shares.append(_spread(when, size, mine) / (speed[link] * period_s))
        senders.append(_senders(source[mine], destination[mine], size[mine], len(nodes)))
    return LinkUse(
        [topology.name(int(kinds[link]), int(numbers[link])) for link in chosen],
        np.array(shares),
        carried[chosen],
        period_s,
        senders,
        topology,
        list(zip(kinds.tolist(), numbers.tolist(), mean.tolist(), strict=True)),
    )


def _recorded_use(data_set: DataSet, most: int) -> LinkUse:
    """Parallel links of one kind and number are one trunk."""
    _, model = network_of(data_set)
    topology = Topology(model)
    links = _columns(data_set, "link")
    keys, trunk_of = np.unique(
        links["kind"].astype(np.int64) * KINDS + links["number"], return_inverse=True
    )
    kinds, numbers = (keys // KINDS).tolist(), (keys % KINDS).tolist()
    parallel = np.array([topology.parallel(kind) for kind in kinds])
    carried = np.bincount(trunk_of, links["bytes"].astype(float), len(keys))
    busy = np.bincount(trunk_of, links["busy_s"], len(keys)) / parallel
    chosen = np.argsort(-busy, kind="stable")[:most]

    end_s = float(data_set.info["result"]["predicted_time_s"])
    period_s = end_s / BINS
    slices, pairs = _columns(data_set, "link_activity"), _columns(data_set, "link_pair")
    begin = np.clip(slices["begin_s"] / period_s, 0, BINS)
    end = np.clip((slices["begin_s"] + slices["length_s"]) / period_s, 0, BINS)
    source, destination = (pairs[name].astype(np.int64) for name in _ENDS)
    ranks = 1 + int(max(source.max(), destination.max()))
    shares, senders = [], []
    for trunk in chosen:
        spread = _spread((begin, end), slices["busy_s"], trunk_of[slices["link"]] == trunk)
        shares.append(spread / (parallel[trunk] * period_s))
        mine = trunk_of[pairs["link"]] == trunk
        named = _senders(source[mine], destination[mine], pairs["bytes"][mine].astype(float), ranks)
        senders.append([pair for pair in named if pair[2] >= LEAST_KNOWN * carried[trunk]])
    return LinkUse(
        [topology.name(kinds[link], numbers[link]) for link in chosen],
        np.array(shares),
        carried[chosen],
        period_s,
        senders,
        topology,
        list(zip(kinds, numbers, (busy / end_s).tolist(), strict=True)),
        is_recorded=True,
    )


def _columns(data_set: DataSet, table: str) -> dict[str, Array]:
    rows = data_set.table(table)
    return {name: rows.column(name).to_numpy() for name in rows.column_names}


_ENDS = ("source", "destination")


def _periods(messages: dict[str, Array], between: Array, period_s: float) -> tuple[Array, Array]:
    """When the bytes of each message begin and end to arrive, in periods."""
    end = messages["arrival_ps"][between] * PS
    begin = end - messages["transfer"][between] * PS
    return np.clip(begin / period_s, 0, BINS), np.clip(end / period_s, 0, BINS)


def _spread(when: tuple[Array, Array], size: Array, chosen: Array) -> Array:
    """The bytes of the chosen messages by period; those of a message arrive evenly."""
    begin, end, size = when[0][chosen], when[1][chosen], size[chosen]
    first = np.minimum(begin.astype(np.int64), BINS - 1)
    last = np.minimum(end.astype(np.int64), BINS - 1)
    rate = size / np.maximum(end - begin, 1e-12)
    # Of messages over several periods the parts in the first and in the last one; the periods
    # between are full.
    alone = first == last
    head = np.where(alone, size, rate * (first + 1 - begin))
    tail = np.where(alone, 0, rate * (end - last))
    full = np.where(alone, 0, rate)
    edges = np.bincount(first, head, BINS) + np.bincount(last, tail, BINS)
    change = np.bincount(first + 1, full, BINS + 1) - np.bincount(last, full, BINS + 1)
    return np.asarray(edges + np.maximum(np.cumsum(change)[:BINS], 0))


def _senders(
    source: Array, destination: Array, size: Array, ranks: int
) -> list[tuple[int, int, int]]:
    pairs, of = np.unique(source * ranks + destination, return_inverse=True)
    total = np.bincount(of, size)
    most = np.argsort(-total, kind="stable")[:NAMED_PAIRS]
    return [(int(pairs[i]) // ranks, int(pairs[i]) % ranks, int(total[i])) for i in most]


def link_plot(data_set: DataSet) -> Plot:
    """The busiest links over time."""
    use = link_use(data_set)
    if use is None:
        chart = Chart(120)
        chart.x("simulated time (s)", range=[0, 1])
        chart.y("link", range=[0, 1])
        return Plot(chart, NOT_SHOWN)
    rows = len(use.names)
    factor, unit = time_unit(use.period_s * BINS)
    cell = use.period_s * factor
    chart = Chart(80 + 24 * rows)
    most = float(use.share.max(initial=0))
    chart.amounts(
        (100 * use.share).astype(np.float32),
        (0, cell),
        (-0.5, 1),
        unit="% of the link",
        mostText=f"{100 * most:.0f} %",
    )
    chart.x(f"simulated time ({unit})", grid=False, range=[0, cell * BINS])
    chart.y("link", names=use.names, reversed=True, grid=False)
    return Plot(chart, _note(use))


def _note(use: LinkUse) -> str:
    sentences = [_bottleneck(use, link) for link in range(min(NAMED_LINKS, len(use.names)))]
    most = float(use.share.max(initial=0))
    if most < BOTTLENECK:
        period = format_seconds(use.period_s)
        sentences.insert(
            0,
            f"No link was more than {100 * most:.2g} % busy in any {period}: if messages queued, "
            "it was in bursts shorter than that.",
        )
    left = len(use.all) - len(use.names)
    if left:
        sentences.append(f"{left:,} links with less are not shown.")
    if not use.is_recorded:
        sentences.append(
            "Routes are fixed shortest ones, and a message's bytes are counted while it arrives; "
            "above 100 % more was sent than the link carries."
        )
    return " ".join(sentences)


def _bottleneck(use: LinkUse, link: int) -> str:
    share, when = use.peak(link)
    more = " or more" if use.is_recorded else ""
    pairs = ", ".join(
        f"{a} to {b} ({format_bytes(size)}{more})" for a, b, size in use.senders[link]
    )
    return (
        f"{use.names[link]}: {format_bytes(float(use.bytes[link]))}, at most {100 * share:.0f} % "
        f"busy, at {format_seconds(when)}; "
        f"{f'ranks {pairs}' if pairs else 'many pairs of ranks'}."
    )
