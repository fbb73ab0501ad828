// Rows as columns, as the data set holds them: batches of the record types io and mpi.
//
// Use: make IoColumns or MpiColumns for a number of rows, append() until they are full, and pass
// them on with the first `rows` values of each column. The caller bounds append(): at most
// `capacity - rows` more (a CHECK). Collation does so. One thread for a batch; its columns may be
// read and destroyed on another one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/postprocess/job.h"
#include "core/postprocess/rows.h"

namespace sesame::postprocess {

// Memory of a column, reused from batches that are no longer used: page faults on fresh memory
// would cost more than filling it. Safe for use by several threads.
class ColumnMemory {
 public:
  explicit ColumnMemory(size_t bytes);
  ColumnMemory(const ColumnMemory&) = delete;
  ColumnMemory& operator=(const ColumnMemory&) = delete;
  ~ColumnMemory();
  void* get() const { return memory_; }

 private:
  size_t bytes_;
  void* memory_;
};

// A column of a batch; its values are uninitialised.
template <typename T>
class Column {
 public:
  explicit Column(size_t capacity) : memory_(capacity * sizeof(T)) {}
  T* data() { return static_cast<T*>(memory_.get()); }

 private:
  ColumnMemory memory_;
};

// Where rows come from, and how numbers of the process map to those of the job.
struct RowOrigin {
  uint32_t rank = 0;
  uint16_t thread = 0;
  HostClock clock;
  const std::vector<int32_t>* files = nullptr;  // index in the data set by number in the process
  const std::vector<int32_t>* calls = nullptr;  // index of a name by number in the trace
};

// Columns that both record types have.
struct CallColumns {
  explicit CallColumns(size_t capacity);

  size_t capacity;
  size_t rows = 0;
  Column<uint32_t> rank;
  Column<uint16_t> thread;
  Column<int64_t> begin_ns, duration_ns;
  Column<int32_t> call, comm, completion;
  Column<int64_t> bytes;
  Column<uint16_t> flags;
};

struct IoColumns : CallColumns {
  explicit IoColumns(size_t capacity);
  // Appends `count` rows: rows[order[from]] … or, without an order (null), rows[from] …
  // REQUIRES: count <= capacity - this->rows, and all numbers are in the lists of `origin`.
  void append(const RowOrigin& origin, const RowStore<IoRow>& rows, const uint32_t* order,
              size_t from, size_t count);

  Column<int32_t> file, other_file, handle;
  Column<int64_t> offset, size;
  Column<uint16_t> error;
};

struct MpiColumns : CallColumns {
  explicit MpiColumns(size_t capacity);
  void append(const RowOrigin& origin, const RowStore<MpiRow>& rows, const uint32_t* order,
              size_t from, size_t count);

  Column<int32_t> peer, tag, made;
  Column<uint32_t> calls;
};

// The preempted rows of the whole run: there are too few for batches.
struct PreemptedColumns {
  void append(const RowOrigin& origin, const std::vector<PreemptedRow>& rows);

  std::vector<uint32_t> rank;
  std::vector<uint16_t> thread;
  std::vector<int64_t> begin_ns, duration_ns, lost_ns;
};

// The file views of the whole run.
struct ViewColumns {
  void append(const RowOrigin& origin, const std::vector<ViewRow>& rows);

  std::vector<uint32_t> rank;
  std::vector<int64_t> begin_ns;
  std::vector<int32_t> handle, file;
  std::vector<int64_t> displacement, data_bytes, extent;
  std::vector<std::string> runs;
};

}  // namespace sesame::postprocess
