// What all processes of a node share: events, processors, network and disk; and the sums that are
// kept for each class of processes.
//
// A Node owns one and advances it by firing its events in order. Processes, arrivals and daemons
// request service with Processors::make_ready() and Server::request(), which call them back. One
// thread for each node.
#pragma once

#include "core/pdes/event_queue.h"
#include "core/rocc/model.h"
#include "core/rocc/processors.h"
#include "core/rocc/server.h"

namespace sesame::rocc {

struct NodeResources {
  explicit NodeResources(const Model& model)
      : processors(events, model.scheduling),
        network(events, model.network_channels),
        disk(events, model.disk_channels) {}

  pdes::EventQueue events;
  Processors processors;
  Server network;
  Server disk;
};

// Sums since the last reset.
struct ClassStatistics {
  SimTime own_cpu;      // without the time to write samples
  SimTime writing_cpu;  // to write samples
  SimTime blocked;      // waiting for space in a full pipe
  SimTime response;     // of processor requests, from ready to done; of arriving requests, to their
                        // very end
  uint64_t completed = 0;  // processor requests; of arriving requests, all
  uint64_t missed = 0;     // sampling periods that passed without a sample

  void add(const ClassStatistics& other) {
    own_cpu += other.own_cpu;
    writing_cpu += other.writing_cpu;
    blocked += other.blocked;
    response += other.response;
    completed += other.completed;
    missed += other.missed;
  }
};

}  // namespace sesame::rocc
