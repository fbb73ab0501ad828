// Rows of the record types io and mpi while a process is read: those of each thread in a list, in
// the order of their ends. Times are ns on the node's clock.
//
// Use: IoReader and MpiReader make a row of each record (row_of_call()) and ThreadRows::add() it,
// in the order of ends. add() marks earlier rows that are inside it as nested. Collation sorts them
// afterwards (RowList::order()) and appends them to columns. References to rows are valid until the
// next add(), indices longer; but push_inside_last() moves the last row by one. Nothing fails. One
// thread for each process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/postprocess/row_store.h"

namespace sesame::postprocess {

// Bits of `flags`, as in docs/formats/records.md.
enum IoFlag : uint16_t {
  kIoNested = 1,
  kIoMerged = 2,
  kIoAsynchronous = 4,
  kIoCollective = 8,
  kIoImplied = 16,
  kIoWillNeed = 32,
  kIoDontNeed = 64,
  kIoScattered = 128,
};

enum MpiFlag : uint16_t {
  kAnySource = 1,
  kAnyTag = 2,
  kPoll = 4,
  kNonblocking = 8,
  kPersistentRequest = 16,
  kSynchronousSend = 32,
  kPrunedKept = 64,
  kMpiNested = 128,
  kCancelled = 256,
  kDropped = 0x8000,  // not in the data set: the row is pruned
};

struct IoRow {
  int64_t begin = 0;
  int64_t duration = 0;
  int64_t offset = -1;
  int64_t size = 0;
  int64_t bytes = 0;
  int32_t file = -1;  // of the process
  int32_t other_file = -1;
  int32_t handle = -1;
  int32_t comm = -1;
  int32_t completion = 0;
  uint16_t call = 0;
  uint16_t error = 0;
  uint16_t flags = 0;
};

struct MpiRow {
  int64_t begin = 0;
  int64_t duration = 0;
  int64_t bytes = 0;
  int32_t comm = -1;
  int32_t peer = -1;
  int32_t tag = -1;
  int32_t completion = 0;
  int32_t made = -1;   // communicator
  uint32_t calls = 1;  // several only of polls that found nothing
  uint16_t call = 0;
  uint16_t flags = 0;
};

// A long call, or computation before one, during which the thread was preempted.
struct PreemptedRow {
  int64_t begin = 0;
  int64_t duration = 0;
  int64_t lost = 0;  // time of it in which the thread did not have the processor
};

// A file view; `begin` is that of the call that set it.
struct ViewRow {
  int64_t begin = 0;
  int32_t handle = -1;
  int32_t file = -1;  // of the process
  int64_t displacement = 0;
  int64_t size = 0;  // data in a filetype
  int64_t extent = 0;
  std::string runs;
};

// Fields that every record of a call has. The time of a record is its end.
template <typename Row, typename Record>
Row row_of_call(const Record& record, uint64_t time) {
  Row row;
  row.begin = static_cast<int64_t>(time - record.duration);
  row.duration = static_cast<int64_t>(record.duration);
  row.call = record.call;
  if constexpr (requires { row.error = record.error; }) row.error = record.error;
  return row;
}

// Copies what an asynchronous access refers to into the row that completes it.
inline void copy_target(IoRow& row, const IoRow& start) {
  row.file = start.file;
  row.handle = start.handle;
  row.offset = start.offset;
  row.size = start.size;
}

inline void mark_nested(IoRow& row) { row.flags |= kIoNested; }
inline void mark_nested(MpiRow& row) { row.flags |= kMpiNested; }

// Whether a row that was recorded before a call of its thread is inside that call.
template <typename Row>
bool is_inside(const Row& row, int64_t outer_begin) {
  return row.begin >= outer_begin && row.begin + row.duration > outer_begin;
}

inline bool is_nested(const IoRow& row) { return (row.flags & kIoNested) != 0; }
inline bool is_nested(const MpiRow& row) { return (row.flags & kMpiNested) != 0; }

// Two operations that one call started: neither is inside the other.
template <typename Row>
bool are_siblings(const Row& a, const Row& b) {
  return a.begin == b.begin && a.duration == b.duration && is_nested(a) && is_nested(b);
}

// The rows of one type of one thread.
template <typename Row>
class RowList {
 public:
  explicit RowList(const std::string& directory) : rows_(directory) {}

  size_t push(const Row& row) {
    rows_.push(row);
    latest_ = std::max(latest_, row.begin);
    return rows_.size() - 1;
  }
  // Inserts a row before the last one, which encloses it; returns its index.
  size_t push_inside_last(Row row) {
    Row outer = rows_.back();
    int64_t end =
        std::max(outer.begin + 1, std::min(row.begin + row.duration, outer.begin + outer.duration));
    row.begin = std::min(std::max(row.begin, outer.begin), end - 1);
    row.duration = end - row.begin;
    mark_nested(row);
    in_order_ = false;
    rows_.back() = row;
    return push(outer) - 1;
  }
  // Marks the rows inside a call that began at `begin` and ends now.
  void nest(int64_t begin, bool same_type) {
    if (begin > latest_) return;
    for (size_t i = rows_.size(); i > 0 && is_inside(rows_[i - 1], begin); --i) {
      mark_nested(rows_[i - 1]);
      in_order_ = in_order_ && !same_type;
    }
  }
  // The order of the data set: by begin, a call before those inside it. Empty if the rows are in
  // this order already.
  std::vector<uint32_t> order() const {
    std::vector<uint32_t> order;
    if (in_order_) return order;
    std::vector<uint32_t> inside;
    for (size_t i = 0; i < rows_.size(); ++i) {
      inside.clear();
      while (!order.empty() && is_inside(rows_[order.back()], rows_[i].begin) &&
             !are_siblings(rows_[order.back()], rows_[i])) {
        inside.push_back(order.back());
        order.pop_back();
      }
      order.push_back(static_cast<uint32_t>(i));
      order.insert(order.end(), inside.rbegin(), inside.rend());
    }
    return order;
  }
  Row& last() { return rows_.back(); }
  RowStore<Row>& rows() { return rows_; }
  const RowStore<Row>& rows() const { return rows_; }
  Row& operator[](size_t i) { return rows_[i]; }
  size_t size() const { return rows_.size(); }

 private:
  RowStore<Row> rows_;
  int64_t latest_ = INT64_MIN;
  bool in_order_ = true;
};

struct ThreadRows {
  ThreadRows(uint16_t number, const std::string& directory)
      : thread(number), io(directory), mpi(directory) {}

  uint16_t thread;
  RowList<IoRow> io;
  RowList<MpiRow> mpi;
  std::vector<PreemptedRow> preempted;

  size_t add(const IoRow& row) {
    io.nest(row.begin, true);
    mpi.nest(row.begin, false);
    return io.push(row);
  }
  size_t add(const MpiRow& row) {
    mpi.nest(row.begin, true);
    io.nest(row.begin, false);
    return mpi.push(row);
  }
};

}  // namespace sesame::postprocess
