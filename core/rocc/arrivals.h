// Requests that arrive at random, each served once: processor, network, disk. They compete with
// each other and with the processes of the node.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/pdes/event_queue.h"
#include "core/rocc/node_resources.h"
#include "core/rocc/random_stream.h"

namespace sesame::rocc {

class Arrivals : public pdes::ConditionalEvent {
 public:
  // `stream` names its random streams, which use the sources from stream.source on.
  Arrivals(NodeResources& node, const ProcessClass& kind, StreamName stream);
  static constexpr uint64_t kSources = 2;

  void start(SimTime now) { schedule_next(now); }
  void fire() override;

  // Up to date after Processors::charge().
  ClassStatistics statistics() const;
  void reset();
  // Requests that have arrived and are not done.
  uint64_t unfinished() const { return unfinished_; }

 private:
  enum Stage : uint64_t { kNetwork, kDisk, kDone };
  struct Request : Task, Client {
    Request(Arrivals& owner, double weight) : Task(weight), arrivals(owner) {}
    SimTime next_demand(SimTime now) override;
    void served(SimTime now, uint64_t stage) override { arrivals.serve(*this, now, stage + 1); }
    Arrivals& arrivals;
    SimTime arrived;
    SimTime cpu, network, disk;  // lengths; cpu is 0 once it has been asked for
  };

  void schedule_next(SimTime now);
  Request& take_request();
  void serve(Request& request, SimTime now, uint64_t first);

  NodeResources& node_;
  const ProcessClass& kind_;
  RandomStream intervals_;
  RandomStream lengths_;
  std::vector<std::unique_ptr<Request>> requests_;
  std::vector<Request*> free_;
  uint64_t unfinished_ = 0;
  ClassStatistics sums_;
};

}  // namespace sesame::rocc
