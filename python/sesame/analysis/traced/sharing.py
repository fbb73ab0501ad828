"""Files that several processes use: which blocks and bytes they share, and whether their requests
interleave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sesame.analysis.traced.intervals import Array, Union
from sesame.analysis.traced.load import IoRecords, TracedRun
from sesame.datasets.traced import IoFlag
from sesame.traced.io_calls import MPI_IO, READ, STDIO, WRITE

# If the block size of the file system is unknown: the usual stripe of Lustre.
DEFAULT_BLOCK = 1 << 20
EPOCHS = 32  # groups of reads; each is compared with the writes that ended before it


@dataclass(frozen=True)
class Interleaving:
    """By file: the requests of one direction that are not collective."""

    requests: Array
    seconds: Array
    neighbours: Array  # requests that follow, in the order of offsets, one of another rank
    moved: Array  # bytes
    touched: Array  # distinct bytes
    extent: Array  # bytes from the first to the last
    mpi_io: Array  # those of the requests that go through MPI-IO


@dataclass(frozen=True)
class Sharing:
    """By file: how its ranks share it."""

    readers: Array  # number of ranks
    writers: Array  # likewise
    users: Array  # likewise, of all calls
    blocks_written: Array
    blocks_contended: Array  # written by several ranks
    requests_contended: Array  # writes that touch such a block
    read_distinct: Array  # distinct bytes that any rank read
    read_once: Array  # distinct bytes that each rank read, summed over the ranks
    read_unlocated: Array  # bytes read at offsets that are not exactly known
    read_after_write: Array  # bytes read that the run had written before
    read: Interleaving
    write: Interleaving


def sharing_of(run: TracedRun) -> Sharing:
    files = len(run.files)
    stored = np.append(run.files.stored, False)
    io = run.io
    moves = ((io.kind == READ) | (io.kind == WRITE)) & (io.error == 0)
    io = io.where(moves & stored[io.file] & ((io.flags & IoFlag.IMPLIED) == 0))
    own = io.where(io.own)
    known = own.where(own.located)
    fragments = own.fragments(run.views)
    written = _bottom(io, files)
    written = written.where((written.kind == WRITE) & written.located & (written.bytes > 0))
    block = np.where(run.files.block_size > 0, run.files.block_size, DEFAULT_BLOCK)
    blocks, contended, requests = _blocks(written, block, files)
    reads, writes = (
        fragments.where(fragments.kind == READ),
        fragments.where(fragments.kind == WRITE),
    )
    return Sharing(
        readers=_ranks(reads, run),
        writers=_ranks(own.where(own.kind == WRITE), run),
        users=_ranks(run.io.where(run.io.own & (run.io.file >= 0)), run),
        blocks_written=blocks,
        blocks_contended=contended,
        requests_contended=requests,
        read_distinct=Union(reads.file, reads.offset, reads.offset + reads.bytes).lengths(files),
        read_once=_read_once(reads, files),
        read_unlocated=np.bincount(own.file, own.bytes * ((own.kind == READ) & ~own.known), files),
        read_after_write=_read_after_write(reads, writes, files),
        read=_interleaving(known.where(known.kind == READ), files),
        write=_interleaving(known.where(known.kind == WRITE), files),
    )


def _bottom(io: IoRecords, files: int) -> IoRecords:
    """The calls that reach the file system, as far as they were recorded. stdio is left out: it
    gathers requests first."""
    posix = io.layer != MPI_IO
    below = np.zeros(files, bool)
    below[io.file[posix]] = True
    return io.where((posix & (io.layer != STDIO)) | (~posix & ~below[io.file]))


def _ranks(io: IoRecords, run: TracedRun) -> Array:
    """The number of ranks that have a record of each file."""
    pairs = np.unique(io.file * max(run.ranks, 1) + io.rank)
    return np.bincount(pairs // max(run.ranks, 1), minlength=len(run.files))


def _blocks(io: IoRecords, block: Array, files: int) -> tuple[Array, Array, Array]:
    """By file: blocks written, blocks that several ranks wrote, and writes that touch such a block.

    Only the first and last block of each request are compared: ranks share the others only if they
    write the same bytes twice, which is another finding.
    """
    size = block[io.file]
    first, last = io.offset // size, (io.offset + io.bytes - 1) // size
    low = np.concatenate([first, last])
    file, rank = np.tile(io.file, 2), np.tile(io.rank, 2)
    span = int(low.max(initial=0)) + 1
    keys, place = np.unique(file * span + low, return_inverse=True)
    least = np.full(len(keys), np.iinfo(np.int64).max)
    most = np.full(len(keys), -1)
    np.minimum.at(least, place, rank)
    np.maximum.at(most, place, rank)
    several = most > least
    half = len(first)
    touches = several[place[:half]] | several[place[half:]]
    whole = Union(io.file, first, last + 1).lengths(files)
    contended = np.bincount(keys[several] // span, minlength=files)
    return whole, contended, np.bincount(io.file[touches], minlength=files)


def _read_once(reads: IoRecords, files: int) -> Array:
    """By file: the distinct bytes that each rank reads, summed over the ranks."""
    ranks = int(reads.rank.max(initial=0)) + 1
    group = reads.file * ranks + reads.rank
    each = Union(group, reads.offset, reads.offset + reads.bytes).lengths(files * ranks)
    return np.asarray(each[: files * ranks].reshape(files, ranks).sum(axis=1))


def _read_after_write(reads: IoRecords, writes: IoRecords, files: int) -> Array:
    """By file: the bytes read that had been written before. Bytes that are read first and then
    written (an update in place) do not count. Each group of reads is compared with the writes that
    ended before the first of them began."""
    back = np.zeros(files)
    written = Union(writes.file, writes.offset, writes.offset + writes.bytes)
    at_all = written.covered(reads.file, reads.offset, reads.offset + reads.bytes)
    reads = reads.where(at_all > 0)  # mostly none: what is read and what is written differ
    if not len(reads):
        return back
    order = np.argsort(reads.begin, kind="stable")
    for some in np.array_split(order, min(EPOCHS, len(order))):
        part = reads.where(some)
        before = writes.where(writes.end <= part.begin[0])
        written = Union(before.file, before.offset, before.offset + before.bytes)
        again = written.covered(part.file, part.offset, part.offset + part.bytes)
        back += np.bincount(part.file, again, files)
    return back


def _interleaving(io: IoRecords, files: int) -> Interleaving:
    alone = (io.flags & IoFlag.COLLECTIVE) == 0
    io = io.where(alone & (io.bytes > 0))
    order = np.lexsort((io.offset, io.file))
    file, rank = io.file[order], io.rank[order]
    beside = (file[1:] == file[:-1]) & (rank[1:] != rank[:-1])
    low = np.full(files, np.iinfo(np.int64).max)
    high = np.zeros(files, np.int64)
    np.minimum.at(low, io.file, io.offset)
    np.maximum.at(high, io.file, io.offset + io.bytes)
    return Interleaving(
        requests=np.bincount(io.file, minlength=files),
        seconds=np.bincount(io.file, (io.end - io.begin) * 1e-9, files),
        neighbours=np.bincount(file[1:][beside], minlength=files),
        moved=np.bincount(io.file, io.bytes, files),
        touched=Union(io.file, io.offset, io.offset + io.bytes).lengths(files),
        extent=np.maximum(high - low, 0),
        mpi_io=np.bincount(io.file[io.layer == MPI_IO], minlength=files),
    )
