#include "core/mpi/messages/expected_sources.h"

#include <algorithm>

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

uint64_t ExpectedSources::Flow::early_of(int source) const {
  const auto found = early.find(source);
  return found == early.end() ? 0 : found->second;
}

void ExpectedSources::Flow::take_early(int source, uint64_t count) {
  const auto found = early.find(source);
  found->second -= count;
  if (found->second == 0) early.erase(found);
}

void ExpectedSources::add(uint32_t context, int tag, int source, uint64_t count, bool is_tied) {
  flows_[key_of(context, tag)].runs.push_back({source, count, is_tied});
}

void ExpectedSources::arrive(const MessageEnvelope& message) {
  if (has_one_source_) {
    Flow& flow = flows_[key_of(message.context, message.tag)];
    flow.has_several |= flow.only_source >= 0 && flow.only_source != message.source_world;
    flow.only_source = message.source_world;
    return;
  }
  const auto found = flows_.find(key_of(message.context, message.tag));
  if (found == flows_.end()) return;  // nothing is expected of this tag
  ++found->second.early[message.source_world];
  advance(found->second);
}

// Advances over the messages that have arrived.
void ExpectedSources::advance(Flow& flow) {
  while (flow.next < flow.runs.size() &&
         (flow.is_tied(flow.next + 1) ? take_tied_runs(flow) : take_run(flow))) {
  }
}

// Takes what has arrived of the next run. Returns whether that is all of it.
bool ExpectedSources::take_run(Flow& flow) {
  Run& run = flow.runs[flow.next];
  const uint64_t count = std::min(flow.early_of(run.source), run.left);
  if (count == 0) return false;
  flow.take_early(run.source, count);
  run.left -= count;
  if (run.left > 0) return false;
  ++flow.next;
  return true;
}

// Takes the runs that are tied with the next one if all of them have arrived. Returns whether they
// have.
bool ExpectedSources::take_tied_runs(Flow& flow) {
  flow.tied_end = std::max(flow.tied_end, flow.next);
  while (flow.tied_end == flow.next || flow.is_tied(flow.tied_end)) {
    const Run& run = flow.runs[flow.tied_end];
    if (flow.early_of(run.source) < run.left) return false;
    ++flow.tied_end;
  }
  for (; flow.next < flow.tied_end; ++flow.next)
    flow.take_early(flow.runs[flow.next].source, flow.runs[flow.next].left);
  return true;
}

uint64_t ExpectedSources::early_arrivals(const MessageEnvelope& message) const {
  const auto found = flows_.find(key_of(message.context, message.tag));
  if (found == flows_.end()) return kUnknown;
  const Flow& flow = found->second;
  if (has_one_source_) return flow.has_several ? kUnknown : 0;
  return flow.early_of(message.source_world);
}

void ExpectedSources::match(const MessageEnvelope& message) {
  Flow& flow = flows_.at(key_of(message.context, message.tag));
  flow.has_match = true;
  flow.last_arrival = message.arrival;
  flow.last_source = message.source;
}

bool ExpectedSources::contradicts(const MessageEnvelope& message) const {
  const auto found = flows_.find(key_of(message.context, message.tag));
  if (found == flows_.end() || !found->second.has_match) return false;
  const Flow& flow = found->second;
  return message.arrival < flow.last_arrival ||
         (message.arrival == flow.last_arrival && message.source < flow.last_source);
}

void ExpectedSources::post(uint32_t context, int tag, uint64_t order) {
  posted_[key_of(context, tag)].insert(order);
}

void ExpectedSources::remove(uint32_t context, int tag, uint64_t order) {
  const auto found = posted_.find(key_of(context, tag));
  found->second.erase(order);
  if (found->second.empty()) posted_.erase(found);
}

bool ExpectedSources::is_first(uint32_t context, int tag, uint64_t order) const {
  return !has_before(key_of(context, tag), order) &&
         !has_before(key_of(context, MPI_ANY_TAG), order);
}

bool ExpectedSources::has_before(uint64_t key, uint64_t order) const {
  const auto found = posted_.find(key);
  return found != posted_.end() && *found->second.begin() < order;
}

}  // namespace sesame::mpi
