// Files that a process has mapped into its memory. Addresses and sizes in bytes.
#pragma once

#include <cstdint>
#include <map>

namespace sesame::postprocess {

struct Mapping {
  uint64_t size = 0;
  int64_t offset = 0;  // of its start in the file
  int32_t file = -1;
  int32_t handle = -1;
};

class Mappings {
 public:
  void add(uint64_t address, const Mapping& mapping);
  void remove(uint64_t address, uint64_t size);
  // Moves the mapping at `old_address`; false when there is none.
  bool move(uint64_t old_address, uint64_t address, uint64_t size);
  // The mapping at an address, its offset that of the address; file -1 when there is none.
  Mapping find(uint64_t address) const;

 private:
  std::map<uint64_t, Mapping> mappings_;  // by address
};

}  // namespace sesame::postprocess
