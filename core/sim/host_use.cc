#include "core/sim/host_use.h"

#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace sesame::sim {
namespace {

// The peak resident memory. getrusage() would include the program that started this one: its mark
// survives exec.
int64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoll(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return 0;
}

}  // namespace

HostUse& HostUse::operator+=(const HostUse& other) {
  peak_memory_bytes += other.peak_memory_bytes;
  preemptions += other.preemptions;
  cpu_time_s += other.cpu_time_s;
  delayed_s += other.delayed_s;
  return *this;
}

HostUse host_use() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  uint64_t on_cpu_ns = 0;
  uint64_t delayed_ns = 0;
  std::ifstream("/proc/self/schedstat") >> on_cpu_ns >> delayed_ns;  // proc(5)
  return {peak_resident_bytes(), usage.ru_nivcsw, static_cast<double>(on_cpu_ns) * 1e-9,
          static_cast<double>(delayed_ns) * 1e-9};
}

}  // namespace sesame::sim
