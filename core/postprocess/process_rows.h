// The rows of one process, and the names of calls that post-processing adds. read_rows() makes a
// ProcessRows, Collation turns it into columns. Plain data: one thread at a time.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/postprocess/call_traits.h"
#include "core/postprocess/files.h"
#include "core/postprocess/job.h"
#include "core/postprocess/rows.h"

namespace sesame::postprocess {

// Numbers of call names that post-processing adds to those of the trace. Make one for each trace,
// before the rows are read: the constructor adds the names to `traits`.
struct OwnCalls {
  uint16_t receive;      // MPI_Recv inside a call that also sends
  uint16_t start_all;    // MPI_Startall
  uint16_t mapped_read;  // pages of a mapping that were read
  uint16_t mapped_write;
  uint16_t mapped_access;

  std::array<uint16_t, 4> all() const {
    return {receive, mapped_read, mapped_write, mapped_access};
  }

  explicit OwnCalls(CallTraits& traits)
      : receive(traits.number("MPI_Recv")),
        start_all(traits.number("MPI_Startall")),
        mapped_read(traits.number("mapped_read")),
        mapped_write(traits.number("mapped_write")),
        mapped_access(traits.number("mapped_access")) {}
};

// A row of one thread that a row of another thread completed. `from` and `to` are indices in the
// RowList of their threads.
struct ThreadLink {
  uint16_t from_thread;
  uint16_t to_thread;
  uint64_t from;
  uint64_t to;
};

struct ProcessRows {
  std::vector<std::unique_ptr<ThreadRows>> threads;  // sorted by ThreadRows::thread
  std::vector<FileFacts> files;                      // by number in the process (IoRow::file)
  std::vector<ViewRow> views;
  std::vector<ThreadLink> io_links;
  std::vector<ThreadLink> mpi_links;
  bool pruned = false;
  uint64_t kept = 0;  // communication calls; when pruning
  uint64_t dropped = 0;
};

}  // namespace sesame::postprocess
