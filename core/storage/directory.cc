#include "core/storage/directory.h"

#include <utility>

namespace sesame::storage {

uint32_t Directory::add(BlockKey key, int cnode) {
  if (free_ == 0) {
    holders_.emplace_back();
    free_ = static_cast<uint32_t>(holders_.size() - 1);
    holders_[free_].next = 0;
  }
  const uint32_t entry = free_;
  free_ = holders_[entry].next;
  size_t at = slot(key);
  if (table_[at].key == BlockKey{}) {
    if (++used_ * 2 > table_.size()) {
      grow();
      at = slot(key);
    }
    table_[at] = {key, 0};
  }
  const uint32_t next = table_[at].first;
  holders_[entry] = {cnode, next, 0};
  if (next != 0) holders_[next].before = entry;
  table_[at].first = entry;
  return entry;
}

void Directory::remove(BlockKey key, uint32_t entry) {
  const Holder gone = holders_[entry];
  if (gone.next != 0) holders_[gone.next].before = gone.before;
  if (gone.before != 0) {
    holders_[gone.before].next = gone.next;
  } else {
    const size_t at = slot(key);
    table_[at].first = gone.next;
    if (gone.next == 0) erase_entry(at);
  }
  holders_[entry].next = free_;
  free_ = entry;
}

// Moves later entries of the same probe sequence back, so that no tombstones are needed.
void Directory::erase_entry(size_t at) {
  --used_;
  for (size_t next = next_slot(at); table_[next].key != BlockKey{}; next = next_slot(next)) {
    const size_t mask = table_.size() - 1;
    if (((next - home(table_[next].key)) & mask) >= ((next - at) & mask)) {
      table_[at] = table_[next];
      at = next;
    }
  }
  table_[at] = {};
}

void Directory::grow() {
  std::vector<Entry> old(table_.size() * 2);
  old.swap(table_);
  --shift_;
  for (const Entry& old_entry : old)
    if (old_entry.key != BlockKey{}) table_[slot(old_entry.key)] = old_entry;
}

}  // namespace sesame::storage
