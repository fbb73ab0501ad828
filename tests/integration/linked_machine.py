"""The text of a machine whose links messages share."""

from __future__ import annotations


def linked_machine(topology: str, **network: str) -> str:
    """With keys of the topology, and of the network as strings."""
    keys = {"latency": "2 us", "bandwidth": "1 GB/s", "sharing": "links", **network}
    return (
        'name = "test"\n[node]\ncores = 2\n[node.network]\nlatency = "1 us"\nbandwidth = "1 GB/s"\n'
        + "[network]\n"
        + "".join(f'{key} = "{value}"\n' for key, value in keys.items())
        + f"[topology]\n{topology}"
    )
