#include "core/mpi/messages/expected_sources.h"

#include <algorithm>

namespace sesame::mpi {

void ExpectedSources::add(uint32_t context, int tag, int source, uint64_t count) {
  std::vector<Run>& runs = flows_[key_of(context, tag)].runs;
  if (!runs.empty() && runs.back().source == source) {
    runs.back().left += count;
  } else if (count > 0) {
    runs.push_back({source, count});
  }
}

void ExpectedSources::arrive(const MessageEnvelope& message) {
  if (is_single_) {
    Flow& flow = flows_[key_of(message.context, message.tag)];
    flow.has_several |= flow.only_source >= 0 && flow.only_source != message.source_world;
    flow.only_source = message.source_world;
    return;
  }
  const auto found = flows_.find(key_of(message.context, message.tag));
  if (found == flows_.end()) return;  // nothing is expected of this tag
  ++found->second.too_soon[message.source_world];
  pass(found->second);
}

// Advances over all messages that have arrived.
void ExpectedSources::pass(Flow& flow) {
  while (flow.next < flow.runs.size()) {
    Run& run = flow.runs[flow.next];
    const auto found = flow.too_soon.find(run.source);
    if (found == flow.too_soon.end()) return;
    const uint64_t count = std::min(found->second, run.left);
    run.left -= count;
    found->second -= count;
    if (found->second == 0) flow.too_soon.erase(found);
    if (run.left > 0) return;
    ++flow.next;
  }
}

uint64_t ExpectedSources::too_soon(const MessageEnvelope& message) const {
  const auto found = flows_.find(key_of(message.context, message.tag));
  if (found == flows_.end()) return kUnknown;
  const Flow& flow = found->second;
  if (is_single_) return flow.has_several ? kUnknown : 0;
  const auto too_soon = flow.too_soon.find(message.source_world);
  return too_soon == flow.too_soon.end() ? 0 : too_soon->second;
}

void ExpectedSources::match(const MessageEnvelope& message, uint64_t order) {
  Flow& flow = flows_.at(key_of(message.context, message.tag));
  flow.last_arrival = message.arrival;
  flow.last_source = message.source;
  flow.last_order = order;
}

bool ExpectedSources::contradicts(const MessageEnvelope& message, uint64_t order) const {
  const auto found = flows_.find(key_of(message.context, message.tag));
  if (found == flows_.end() || found->second.last_order == 0) return false;
  const Flow& flow = found->second;
  if (order > 0 && order < flow.last_order) return false;
  return message.arrival < flow.last_arrival ||
         (message.arrival == flow.last_arrival && message.source < flow.last_source);
}

}  // namespace sesame::mpi
