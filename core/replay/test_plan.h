// Plans for tests, made in memory.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "core/replay/plan.h"

namespace sesame::replay {

inline PlanOperation nothing() {
  PlanOperation operation{};
  operation.offset = -1;
  operation.file = operation.other_file = operation.slot = operation.other_slot = -1;
  return operation;
}

// A path of this process: tests run in parallel, each in a process of its own.
inline std::string own_path(const std::string& name) {
  return testing::TempDir() + "sesame-replay-" + std::to_string(getpid()) + "-" + name;
}

struct TestPlan {
  PlanHeader header{};
  std::vector<PlanStream> streams;
  std::vector<PlanOperation> operations;
  std::vector<PlanEvent> events;
  std::vector<PlanOpened> opened;
  std::vector<PlanFile> files;
  std::vector<uint32_t> links;
  std::vector<uint32_t> targets;
  std::string text;

  // Adds a process with one thread and one open file.
  void add_stream(const std::vector<PlanOperation>& its, int64_t tail_ns = 0) {
    const auto rank = static_cast<uint32_t>(streams.size());
    streams.push_back({rank, 0, rank, 1, operations.size(), its.size(), tail_ns, 1 << 16, 0, 0});
    operations.insert(operations.end(), its.begin(), its.end());
  }

  void add_event(uint32_t arrivals) { events.push_back({arrivals, 0, 0, 0}); }

  int32_t add_file(const std::string& path) {
    files.push_back({static_cast<uint32_t>(text.size()), 1});
    text += path + '\0';
    return static_cast<int32_t>(files.size()) - 1;
  }

  std::string bytes() {
    std::memcpy(header.magic, "SESREPLY", sizeof header.magic);
    header.version = kPlanVersion;
    header.processes = 1;
    header.tables = static_cast<uint32_t>(streams.size());
    header.streams = streams.size();
    header.operations = operations.size();
    header.events = events.size();
    header.links = links.size();
    header.targets = targets.size();
    header.opened = opened.size();
    header.files = files.size();
    header.text = text.size();
    std::string all(reinterpret_cast<const char*>(&header), sizeof header);
    auto add = [&](const auto& part) {
      all.append(reinterpret_cast<const char*>(part.data()), part.size() * sizeof part[0]);
    };
    add(streams);
    add(operations);
    add(events);
    add(opened);
    add(files);
    add(links);
    add(targets);
    return all + text;
  }

  Plan open() {
    const std::string path = own_path("plan");
    const std::string all = bytes();
    std::ofstream(path, std::ios::binary).write(all.data(), static_cast<int64_t>(all.size()));
    auto plan = Plan::open(path);
    unlink(path.c_str());
    return std::move(*plan);
  }
};

}  // namespace sesame::replay
