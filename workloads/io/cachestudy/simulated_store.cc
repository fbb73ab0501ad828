#include "io/cachestudy/simulated_store.h"

#include <algorithm>
#include <cstring>

namespace sesame::workload {
namespace {

constexpr double kWriteS = SimulatedStore::kBlockBytes / SimulatedStore::kDeviceBytesPerS;

}  // namespace

void SimulatedStore::create(long bytes) {
  flush();
  stamps_.assign(bytes / kStampBytes, 0);
}

void SimulatedStore::read(long offset, std::span<char> data) {
  const long bytes = static_cast<long>(data.size());
  const long end = (offset + bytes + kBlockBytes - 1) / kBlockBytes;
  for (long block = offset / kBlockBytes; block < end; ++block) {
    if (!is_cached(block)) fetch(block, end - block);
  }
  now_ += kCallS + static_cast<double>(bytes) / kMemoryBytesPerS;
  for (long at = 0; at < bytes; at += kStampBytes) {
    std::memcpy(&data[at], &stamps_[(offset + at) / kStampBytes], sizeof stamps_[0]);
  }
}

void SimulatedStore::write(long offset, std::span<const char> data) {
  const long bytes = static_cast<long>(data.size());
  now_ += kCallS + static_cast<double>(bytes) / kMemoryBytesPerS;
  const long end = (offset + bytes + kBlockBytes - 1) / kBlockBytes;
  for (long block = offset / kBlockBytes; block < end; ++block) accept(block);
  for (long at = 0; at < bytes; at += kStampBytes) {
    std::memcpy(&stamps_[(offset + at) / kStampBytes], &data[at], sizeof stamps_[0]);
  }
}

void SimulatedStore::synchronize() {
  while (!dirty_.empty()) {
    now_ = std::max(now_, device_free_);
    drain();
  }
  now_ = std::max(now_, device_free_);
}

void SimulatedStore::flush() {
  synchronize();
  recent_.clear();
  cached_.clear();
}

bool SimulatedStore::is_cached(long block) {
  const auto found = cached_.find(block);
  if (found == cached_.end()) return false;
  recent_.splice(recent_.begin(), recent_, found->second);
  return true;
}

void SimulatedStore::keep(long block) {
  if (sizes_.read_cache < kBlockBytes || is_cached(block)) return;
  recent_.push_front(block);
  cached_[block] = recent_.begin();
  if (static_cast<long>(recent_.size()) * kBlockBytes > sizes_.read_cache) {
    cached_.erase(recent_.back());
    recent_.pop_back();
  }
}

// One request to the device for the blocks from `first` on that are not there, and those after.
void SimulatedStore::fetch(long first, long blocks) {
  const long all = static_cast<long>(stamps_.size()) * kStampBytes / kBlockBytes;
  const long end = std::min(first + blocks + sizes_.read_ahead, std::max(all, first + blocks));
  now_ += kAccessS;
  for (long block = first; block < end; ++block) {
    now_ += kBlockBytes / kDeviceBytesPerS;
    keep(block);
  }
}

void SimulatedStore::accept(long block) {
  drain();
  if (is_dirty_.contains(block)) return;
  if (sizes_.write_cache < kBlockBytes) {
    now_ += kWriteS;
    return;
  }
  if (static_cast<long>(dirty_.size()) * kBlockBytes >= sizes_.write_cache) {
    now_ = std::max(now_, device_free_);
    drain();
  }
  if (dirty_.empty()) device_free_ = now_ + kWriteS;
  dirty_.push_back(block);
  is_dirty_.insert(block);
}

// What the device has written by now.
void SimulatedStore::drain() {
  while (!dirty_.empty() && device_free_ <= now_) {
    is_dirty_.erase(dirty_.front());
    dirty_.pop_front();
    if (!dirty_.empty()) device_free_ += kWriteS;
  }
}

}  // namespace sesame::workload
