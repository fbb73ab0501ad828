#include "io/cachestudy/memory.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <fstream>
#include <sstream>

namespace sesame::workload {
namespace {

// Where the hierarchy of control groups that limits memory is mounted; empty: nowhere.
std::string hierarchy(const std::string& wanted_type) {
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::string device, point, type, options;
    std::istringstream(line) >> device >> point >> type >> options;
    const bool memory = type == "cgroup2" || ("," + options + ",").find(",memory,") != line.npos;
    if (type == wanted_type && memory) return point;
  }
  return "";
}

// The first number in a file; LONG_MAX for none, as for the word "max".
long number_in(const std::string& path) {
  std::ifstream file(path);
  long value = 0;
  return file >> value ? value : LONG_MAX;
}

// A group obeys the limits of the groups above it.
void apply_limits(const std::string& root, std::string group, const std::string& file,
                  Memory& memory) {
  while (true) {
    const long limit = number_in(root + group + "/" + file);
    if (limit < memory.bytes) {
      memory.bytes = limit;
      memory.limited_by = "the control group " + (group.empty() ? "/" : group);
    }
    if (group.empty()) return;
    group.erase(group.rfind('/'));
  }
}

}  // namespace

Memory find_memory() {
  Memory memory;
  memory.bytes = ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE);
  memory.limited_by = "the machine";
  memory.processor_cache = std::max(0L, ::sysconf(_SC_LEVEL3_CACHE_SIZE));
  if (memory.processor_cache == 0) {
    memory.processor_cache = std::max(0L, ::sysconf(_SC_LEVEL2_CACHE_SIZE));
  }
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:path
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    if (group == "/") group.clear();
    if (controllers.empty()) apply_limits(hierarchy("cgroup2"), group, "memory.max", memory);
    if (("," + controllers + ",").find(",memory,") != line.npos) {
      apply_limits(hierarchy("cgroup"), group, "memory.limit_in_bytes", memory);
    }
  }
  return memory;
}

}  // namespace sesame::workload
