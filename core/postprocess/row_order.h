// The order of a process's rows in the data set: by begin, an outer call before those inside it,
// without pruned rows. `completion` is a distance in rows, so it is recomputed for this order.
#pragma once

#include <cstdint>
#include <vector>

#include "core/postprocess/process_rows.h"

namespace sesame::postprocess {

inline bool is_dropped(const IoRow&) { return false; }
inline bool is_dropped(const MpiRow& row) { return (row.flags & kDropped) != 0; }

// The rows of one type of one thread.
struct RowOrder {
  std::vector<uint32_t> order;      // empty: the order in which they were added
  std::vector<uint32_t> positions;  // the inverse
  size_t size = 0;

  uint64_t position(uint64_t row) const { return order.empty() ? row : positions[row]; }
};

template <typename Row>
RowOrder order_rows(RowList<Row>& list, bool may_drop) {
  RowOrder result;
  result.order = list.order();
  if (may_drop) {
    if (result.order.empty()) {
      for (uint32_t i = 0; i < list.size(); ++i) result.order.push_back(i);
    }
    std::erase_if(result.order, [&](uint32_t i) { return is_dropped(list[i]); });
  }
  if (result.order.empty()) {
    result.size = may_drop ? 0 : list.size();
    return result;
  }
  result.size = result.order.size();
  result.positions.assign(list.size(), 0);
  for (uint32_t i = 0; i < result.size; ++i) result.positions[result.order[i]] = i;
  for (size_t i = 0; i < list.size(); ++i) {
    Row& row = list[i];
    if (row.completion == 0) continue;
    uint32_t to = result.positions[i + static_cast<size_t>(row.completion)];
    row.completion = static_cast<int32_t>(int64_t{to} - int64_t{result.positions[i]});
  }
  return result;
}

// Completions by other threads, once the orders of all threads are known.
template <typename Row>
void link_threads(ProcessRows& process, RowList<Row> ThreadRows::*list,
                  const std::vector<RowOrder>& orders, const std::vector<ThreadLink>& links) {
  auto thread_at = [&](uint16_t number) {
    size_t i = 0;
    while (process.threads[i]->thread != number) ++i;
    return i;
  };
  std::vector<uint64_t> bases{0};
  for (const RowOrder& order : orders) bases.push_back(bases.back() + order.size);
  for (const ThreadLink& link : links) {
    size_t from = thread_at(link.from_thread);
    size_t to = thread_at(link.to_thread);
    Row& row = ((*process.threads[from]).*list)[link.from];
    row.completion = static_cast<int32_t>(bases[to] + orders[to].position(link.to) - bases[from] -
                                          orders[from].position(link.from));
  }
}

}  // namespace sesame::postprocess
