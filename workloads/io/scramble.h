// Numbers that look random and that any rank can make again from their key.
#ifndef WORKLOADS_IO_SCRAMBLE_H_
#define WORKLOADS_IO_SCRAMBLE_H_

#include <cstdint>

namespace sesame::workload {

// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
inline std::uint64_t scramble(std::uint64_t key) {
  key += 0x9e3779b97f4a7c15;
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9;
  key = (key ^ (key >> 27)) * 0x94d049bb133111eb;
  return key ^ (key >> 31);
}

}  // namespace sesame::workload

#endif  // WORKLOADS_IO_SCRAMBLE_H_
