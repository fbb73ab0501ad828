"""A machine of two nodes with a file system that all share and one of each node."""

_TEXT = """\
name = "small"
nodes = 2
[node]
cores = {cores}
[node.network]
latency = "1 us"
bandwidth = "10 GB/s"
[network]
latency = "1 us"
bandwidth = "10 GB/s"
[topology]
kind = "crossbar"
[storage]
mount = ["/pfs", "."]
detail = "analytic"
analytic.latency = "1 ms"
analytic.bandwidth = "100 MB/s"
{more}
[node.storage]
mount = ["/local"]
detail = "analytic"
analytic.latency = "1 ms"
analytic.bandwidth = "100 MB/s"
"""


def small_machine(cores: int = 4, more: str = "") -> str:
    """The text of its file. `more`: further keys of the shared file system."""
    return _TEXT.format(cores=cores, more=more)
