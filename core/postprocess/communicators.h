// The communicators of one process as its tracer numbered them. match_communicators.cc finds which
// of them are the same one on different processes.
//
// Use: set_world_size(), then make() and set_name() for the records in the order of the stream;
// instance() translates the tracer's number at that point of the stream. Take instances() at the
// end. Damaged traces are no error: a number that was never made gives -1. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/postprocess/call_traits.h"
#include "core/trace/traced_records.h"

namespace sesame::postprocess {

// Ranks of MPI_COMM_WORLD in runs of first, count, step.
struct Members {
  std::vector<int32_t> runs;

  bool operator==(const Members&) const = default;
  auto operator<=>(const Members&) const = default;
  std::vector<int32_t> ranks() const;
};

// A communicator of a process. The tracer reuses its numbers, so each creation gets an instance, in
// the order of the stream. Instance 0 is MPI_COMM_WORLD.
struct CommInstance {
  int32_t parent = -1;      // instance
  uint32_t ordinal = 0;     // among the calls of its kind on this parent
  bool over_group = false;  // not all of the parent took part, so only the members identify it
  Members members;
  Members remote;
  std::string name;
};

class CommTable {
 public:
  explicit CommTable(const CallTraits& traits);

  void set_world_size(int32_t size);
  // Adds the communicator that a call created; returns its instance, -1 for MPI_COMM_NULL.
  int32_t make(const trace::communicator_record& record);
  void set_name(int32_t number, std::string_view name);
  int32_t instance(int32_t number) const {
    return number >= 0 && static_cast<size_t>(number) < numbers_.size()
               ? numbers_[static_cast<size_t>(number)]
               : -1;
  }
  const std::vector<CommInstance>& instances() const { return instances_; }

 private:
  const CallTraits& traits_;
  std::vector<CommInstance> instances_;
  std::vector<int32_t> numbers_;                                 // instance by the tracer's number
  std::vector<uint32_t> constructors_;                           // calls so far on each instance
  std::map<std::pair<Members, Members>, uint32_t> group_calls_;  // likewise, by the groups
};

}  // namespace sesame::postprocess
