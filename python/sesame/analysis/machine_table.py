"""A machine model as rows of text, for `sesame machine` and for reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sesame import native
from sesame.analysis.quantities import format_bytes, format_count, format_seconds, format_size

SHARED = {"none": "nothing", "interface": "cards", "links": "cards and links"}
SIZES = [0, 8, 1024, 64 * 1024, 1 << 20, 4 << 20]


def headline(model: dict[str, Any]) -> tuple[str, str, str, str]:
    """Nodes, cores of a node, latency, bandwidth."""
    network = model["network"]
    return (
        format_count(model["nodes"]),
        str(model["cores"]),
        format_seconds(network["latency_s"]),
        f"{format_bytes(network['bandwidth_bytes_per_s'])}/s",
    )


def assumed_sentence(model: dict[str, Any]) -> str | None:
    """Which constants have no source; None if all have one."""
    keys = model["assumed"]
    if not keys:
        return None
    return f"assumed, without a source: {', '.join(keys)}"


def parameter_rows(model: dict[str, Any]) -> list[tuple[str, str]]:
    """(parameter, value), the most important first."""
    topology = dict(model["topology"])
    kind = topology.pop("kind")
    diameter, mean = topology.pop("diameter_hops"), topology.pop("mean_hops")
    shape = ", ".join(f"{key} {value}" for key, value in topology.items())
    return [
        ("nodes", format_count(model["nodes"])),
        ("cores of a node", str(model["cores"])),
        ("ranks at most", format_count(model["ranks"])),
        ("computation, times the host's", f"{model['compute_ratio']:g}"),
        *_sharing_row(model["slowdown"]),
        *_packing_row(model["packing_time_s"]),
        ("topology", f"{kind}, {shape}" if shape else kind),
        ("hops, at most and on average", f"{diameter} and {mean:.1f}"),
        *_network_rows("between nodes", model["network"]),
        *_network_rows("inside a node", model["node_network"]),
        *_shared_rows(model),
        *_storage_rows("file system", model["storage"]),
        *_storage_rows("file system of a node", model["node_storage"]),
    ]


def _shared_rows(model: dict[str, Any]) -> list[tuple[str, str]]:
    """What messages of different ranks share."""
    sharing = model["sharing"]
    rows = [("messages share", SHARED[sharing["mode"]])]
    if sharing["mode"] == "none":
        return rows
    rows.append(("cards of a node", f"{sharing['cards']}, {sharing['assignment']}"))
    if bandwidth := sharing["send"]["bandwidth_bytes_per_s"]:
        rows.append(("bandwidth of a card", f"{format_bytes(bandwidth)}/s"))
    if rates := sharing["send"]["message_rate_per_s"]:
        pairs = sharing["pairs"] or [None]
        shown = [
            f"{rate / 1e6:.3g} M/s" + ("" if ranks is None else f" ({ranks})")
            for ranks, rate in zip(pairs, rates, strict=True)
        ]
        rows.append(("messages of a card, by ranks", ", ".join(shown)))
    for name, key in (("a link", "link"), ("a link between groups", "global")):
        if bandwidth := sharing[f"{key}_bandwidth_bytes_per_s"]:
            rows.append((f"bandwidth of {name}", f"{format_bytes(bandwidth)}/s"))
    return rows


def _sharing_row(factors: list[float]) -> list[tuple[str, str]]:
    if not factors:
        return []
    row = ("computation, by ranks of a node from 1 on", " ".join(f"{f:g}" for f in factors))
    return [row]


def _packing_row(time_s: float) -> list[tuple[str, str]]:
    return [("packing of a block in an Alltoall", format_seconds(time_s))] if time_s else []


def _storage_rows(where: str, storage: dict[str, Any] | None) -> list[tuple[str, str]]:
    if storage is None:
        return []
    rows = [(f"{where}, mounted at", " ".join(storage["mounts"]))]
    if storage["ionodes"]:
        stripe = format_size(storage["stripe_bytes"])
        rows.append((f"{where}, I/O nodes", f"{storage['ionodes']}, stripes of {stripe}"))
        rows.append((f"{where}, collective access", storage["collective"]))
    if storage["detail"] == "analytic":
        return [*rows, (f"{where}, detail", "analytic")]
    caches = {
        "caches of compute nodes": storage["cnode_cache_bytes"],
        "caches of I/O nodes" if storage["ionodes"] else "cache": storage["ionode_cache_bytes"],
    }
    rows += [(f"{where}, {name}", format_size(size)) for name, size in caches.items() if size]
    array = "" if storage["raid"] == "none" else f", {storage['raid']} of {storage['members']}"
    return [*rows, (f"{where}, device", storage["device"] + array)]


def _network_rows(where: str, network: dict[str, Any]) -> list[tuple[str, str]]:
    eager = network["eager_limit_bytes"]
    rows = [
        (f"latency {where}", format_seconds(network["latency_s"])),
        (f"bandwidth {where}", f"{format_bytes(network['bandwidth_bytes_per_s'])}/s"),
        (f"send overhead {where}", format_seconds(network["send_overhead_s"])),
        (f"receive overhead {where}", format_seconds(network["receive_overhead_s"])),
        *_bandwidth_row(f"copies of a sender {where}", network, "send_copy"),
        *_bandwidth_row(f"copies of a receiver {where}", network, "receive_copy"),
        *_bandwidth_row(f"bandwidth of streams {where}", network, "stream"),
        (f"gap {where}", format_seconds(network["gap_s"])),
        (f"hop latency {where}", format_seconds(network["hop_latency_s"])),
        (f"eager up to, {where}", "any size" if eager is None else format_bytes(eager)),
    ]
    segments = network["segments"]
    if len(segments) > 1:
        for segment in segments:
            limit = segment["up_to_bytes"]
            size = "larger" if limit is None else f"up to {format_bytes(limit)}"
            speed = f"{format_bytes(segment['bandwidth_bytes_per_s'])}/s"
            value = f"{format_seconds(segment['latency_s'])} + size at {speed}"
            rows.append((f"messages {where}, {size}", value))
    return rows


def _bandwidth_row(name: str, network: dict[str, Any], key: str) -> list[tuple[str, str]]:
    bandwidth = network[f"{key}_bandwidth_bytes_per_s"]
    return [(name, f"{format_bytes(bandwidth)}/s")] if bandwidth else []


def ping_pong_rows(path: Path, overrides: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """(size, half round trip, bandwidth) between neighbouring nodes."""
    table = native.ping_pong_table(str(path), list(overrides), SIZES)
    return [
        (
            format_size(row["size_bytes"]),
            format_seconds(row["time_s"]),
            f"{format_bytes(row['bandwidth_bytes_per_s'])}/s" if row["size_bytes"] else "",
        )
        for row in table
    ]
