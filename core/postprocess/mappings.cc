#include "core/postprocess/mappings.h"

namespace sesame::postprocess {

void Mappings::add(uint64_t address, const Mapping& mapping) {
  remove(address, mapping.size);
  if (mapping.size > 0) mappings_[address] = mapping;
}

// Parts of a mapping outside the range stay.
void Mappings::remove(uint64_t address, uint64_t size) {
  uint64_t end = address + size;
  auto entry = mappings_.lower_bound(address);
  if (entry != mappings_.begin()) --entry;
  while (entry != mappings_.end() && entry->first < end) {
    auto [start, mapping] = *entry;
    if (start + mapping.size <= address) {
      ++entry;
      continue;
    }
    entry = mappings_.erase(entry);
    if (start < address) {
      Mapping before = mapping;
      before.size = address - start;
      mappings_[start] = before;
    }
    if (start + mapping.size > end) {
      Mapping behind = mapping;
      behind.size = start + mapping.size - end;
      behind.offset += static_cast<int64_t>(end - start);
      entry = mappings_.insert({end, behind}).first;
      break;
    }
  }
}

bool Mappings::move(uint64_t old_address, uint64_t address, uint64_t size) {
  Mapping mapping = find(old_address);
  if (mapping.file < 0) return false;
  remove(old_address, mapping.size);
  mapping.size = size;
  add(address, mapping);
  return true;
}

Mapping Mappings::find(uint64_t address) const {
  auto entry = mappings_.upper_bound(address);
  if (entry == mappings_.begin()) return {};
  --entry;
  Mapping mapping = entry->second;
  uint64_t into = address - entry->first;
  if (into >= mapping.size) return {};
  mapping.size -= into;
  mapping.offset += static_cast<int64_t>(into);
  return mapping;
}

}  // namespace sesame::postprocess
