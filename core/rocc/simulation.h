// One replication of a model: its nodes and its main process, from time 0 to an end. Results count
// what happens after a warm-up.
//
// Nodes do not depend on each other. They are simulated one after the other for a window of time,
// which keeps one node's state in the cache, then the main process receives their messages. Of a
// model with more nodes than detailed ones, the messages of the others are copies of random
// messages of the detailed nodes in the window, and arrive near them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/rocc/main_process.h"
#include "core/rocc/model.h"
#include "core/rocc/node.h"
#include "core/rocc/random_stream.h"

namespace sesame::rocc {

// Use: construct it, advance() once or in steps (to show progress), then read nodes() and main().
// The seed and the number of the replication name all random streams: equal ones, with equal steps,
// give equal results. (Copies of messages are placed inside a step.) Nothing fails: the model was
// checked before (model.h). One thread; different replications share nothing.
class Simulation {
 public:
  // Counts from `warm_up` to `end`. REQUIRES: warm_up < end.
  Simulation(Model model, uint64_t seed, uint32_t replication, SimTime warm_up, SimTime end);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Simulates until `until`, or until the end if that is earlier. May be called again.
  void advance(SimTime until);

  const Model& model() const { return model_; }
  SimTime counted() const { return end_ - warm_up_; }
  // Of each detailed node.
  std::vector<NodeStatistics> nodes();
  const MainQueue& main() const { return main_; }

 private:
  void advance_window(SimTime end);
  void add_copies(SimTime end);

  const Model model_;
  const SimTime warm_up_;
  const SimTime end_;
  SimTime now_;
  std::vector<std::unique_ptr<Node>> nodes_;
  MainQueue main_;
  MessageList arriving_;
  RandomStream copies_;
  double copies_due_ = 0;
};

}  // namespace sesame::rocc
