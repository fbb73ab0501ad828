// The model of a node as plain data. python/sesame/overhead/model.py describes and checks each
// value; times are in seconds there and here.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/units.h"
#include "core/rocc/distribution.h"

namespace sesame::rocc {

struct Scheduling {
  bool fair = false;  // else round robin
  uint32_t processors = 1;
  SimTime quantum;         // round robin
  SimTime period;          // fair
  SimTime granularity;     // fair
  SimTime context_switch;  // before a processor runs another process than before
};

struct ProcessClass {
  uint32_t count = 1;
  bool instrumented = false;
  std::optional<Distribution> interarrival;  // requests that arrive instead of processes
  Distribution cpu, network, disk, pause;
  double weight = 1024;
};

struct Instrumentation {
  SimTime sampling_period;  // 0: no sampling
  double records_per_request = 0;
  Distribution sample_cpu;
  SimTime change_period;  // 0: no changes
};

struct DaemonClass {
  uint32_t count = 1;
  bool has_timer = false;  // samples are made by the daemon's timer, not by processes
  Distribution collect, poll, forward, network;
  bool waits_for_network = false;
  uint32_t batch_size = 1;  // 1: collect-and-forward
  SimTime batch_age;        // 0: no limit
  uint32_t pipe = 64;       // samples that each pipe holds
  Distribution insertion, stop;
  SimTime change_time;  // for which processes stay stopped after the processor time of a change
  double weight = 1024;
};

struct MainProcess {
  Distribution cpu, cpu_per_sample, network;
};

struct Model {
  uint32_t nodes = 1;
  uint32_t detailed_nodes = 1;
  Scheduling scheduling;
  uint32_t network_channels = 1;
  uint32_t disk_channels = 1;
  SimTime latency;
  std::vector<ProcessClass> classes;
  Instrumentation instrumentation;
  DaemonClass daemon;
  MainProcess main;
};

}  // namespace sesame::rocc
