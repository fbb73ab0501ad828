// A node: its processes, arriving requests and daemons on its processors, network and disk.
//
// Use (simulation.h does this): the constructor makes and starts all of them at time 0. Then
// advance() to rising times, and take and clear messages() after each. reset() the sums at the end
// of the warm-up. Nothing fails: a Model has been checked. Nodes share only the model, so different
// nodes may be on different threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/pdes/event_queue.h"
#include "core/rocc/arrivals.h"
#include "core/rocc/daemon.h"
#include "core/rocc/messages.h"
#include "core/rocc/node_resources.h"
#include "core/rocc/process.h"

namespace sesame::rocc {

// Sums since the last reset.
struct NodeStatistics {
  std::vector<ClassStatistics> classes;  // as in Model::classes
  SimTime daemon_cpu;
  DaemonStatistics daemons;
  SimTime processors_busy, network_busy, disk_busy;
  uint64_t waiting = 0;  // requests that have arrived and are not done, network and disk requests
  uint64_t events = 0;   // never reset
};

class Node {
 public:
  // `model` must stay alive. The seed, the replication and the node's number name its random
  // streams: equal ones give equal results.
  Node(const Model& model, uint64_t seed, uint32_t replication, uint32_t number);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Simulates until `end`, which is included. Messages are added to messages().
  void advance(SimTime end);
  MessageList& messages() { return messages_; }
  // Counts from the end of the last advance() on.
  void reset();
  NodeStatistics statistics();

 private:
  struct Change : pdes::ConditionalEvent {
    explicit Change(Node* owner) : node(owner) {}
    void fire() override { node->change_instrumentation(time()); }
    Node* node;
  };

  void add_daemons(StreamName stream);
  void add_class(size_t index, StreamName stream);
  void start();
  void change_instrumentation(SimTime now);

  const Model& model_;
  NodeResources resources_;
  MessageList messages_;
  std::vector<std::unique_ptr<Daemon>> daemons_;
  std::vector<std::vector<std::unique_ptr<Process>>> processes_;  // by class
  std::vector<std::vector<std::unique_ptr<Arrivals>>> arrivals_;  // by class
  Change change_{this};
  SimTime now_;
  uint64_t events_ = 0;
  uint32_t dealt_ = 0;  // instrumented processes that have a daemon
};

}  // namespace sesame::rocc
