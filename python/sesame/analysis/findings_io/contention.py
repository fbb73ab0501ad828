"""Blocks of a file that several ranks write."""

from __future__ import annotations

import numpy as np

from sesame.analysis.findings_io.found import Evidence, Finding, most, percent
from sesame.analysis.quantities import format_size
from sesame.analysis.traced.sharing import DEFAULT_BLOCK

CONTENDED = 0.1  # of the blocks written; ours: sharing only at the borders of parts is less
ENOUGH = 16  # blocks; ours


def shared_blocks(e: Evidence) -> list[Finding]:
    if e.sharing is None:
        return []
    blocks, contended = e.sharing.blocks_written, e.sharing.blocks_contended
    much = (contended >= ENOUGH) & (contended >= CONTENDED * blocks)
    if not much.any():
        return []
    file = most(np.where(much, contended, 0))
    size = int(e.files.block_size[file]) or DEFAULT_BLOCK
    rows = e.totals.bottom
    writes = rows.by_file("writes")
    touching = np.minimum(e.sharing.requests_contended, writes)
    part = np.divide(touching, writes, out=np.zeros_like(writes), where=writes > 0)
    return [
        Finding(
            "contention in a shared file",
            f"{percent(contended[file] / blocks[file])} of the {blocks[file]:,.0f} blocks of "
            f"{format_size(size)} that are written in {e.path(file)} are written by several of "
            f"{e.sharing.writers[file]:,} ranks; {percent(part[file])} of the writes touch such a "
            "block. Where the file system locks blocks, locks go from rank to rank.",
            "Give each rank whole blocks, or write collectively, so that one rank writes a block; "
            "a file system with stripes wants whole stripes.",
            float((rows.by_file("write_s") * part * much).sum()),
            {
                "blocks written": float(blocks[file]),
                "by several ranks": float(contended[file]),
                "writers": float(e.sharing.writers[file]),
            },
        )
    ]
