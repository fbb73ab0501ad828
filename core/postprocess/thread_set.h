// The threads of a process while its rows are made: the current one, and links between rows.
//
// Use: set_thread() before the records of a thread (walk.h calls it), then add rows to current().
// Rows go to `result`, which must outlive it; large lists of rows to files in `directory` (empty:
// all in memory). Threads are made at their first use and stay valid. Nothing fails. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "core/postprocess/process_rows.h"

namespace sesame::postprocess {

class ThreadSet {
 public:
  ThreadSet(ProcessRows& result, std::string directory)
      : result_(result), directory_(std::move(directory)) {}

  void set_thread(uint32_t number) {
    number_ = static_cast<uint16_t>(std::min<uint32_t>(number, UINT16_MAX));
    current_ = &find(number_);
  }
  // REQUIRES: set_thread() was called.
  ThreadRows& current() { return *current_; }
  uint16_t number() const { return number_; }
  ThreadRows& find(uint16_t number) {
    auto& threads = result_.threads;
    auto found = std::ranges::lower_bound(threads, number, {}, [](auto& t) { return t->thread; });
    if (found == threads.end() || (*found)->thread != number) {
      found = threads.insert(found, std::make_unique<ThreadRows>(number, directory_));
    }
    return **found;
  }
  // The row `from` of a thread was completed by the row `to` of the current one.
  void link_io(uint16_t thread, uint64_t from, uint64_t to) {
    link(find(thread).io, result_.io_links, thread, from, to);
  }
  void link_mpi(uint16_t thread, uint64_t from, uint64_t to) {
    link(find(thread).mpi, result_.mpi_links, thread, from, to);
  }

 private:
  template <typename Row>
  void link(RowList<Row>& rows, std::vector<ThreadLink>& links, uint16_t thread, uint64_t from,
            uint64_t to) {
    if (thread == number_) {
      rows[from].completion = static_cast<int32_t>(to - from);
    } else {
      links.push_back({thread, number_, from, to});
    }
  }

  ProcessRows& result_;
  std::string directory_;
  ThreadRows* current_ = nullptr;
  uint16_t number_ = 0;
};

}  // namespace sesame::postprocess
