// MPI requests by handle. A library may use one handle for several requests at once (for sends that
// are complete when they start), so each handle has a stack of requests. Open addressing: slots are
// never freed, because libraries reuse handles.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace sesame::postprocess {

enum class RequestKind : uint8_t { kNone, kSend, kReceive, kCollective, kFile, kOther };

struct Request {
  RequestKind kind = RequestKind::kNone;
  bool persistent = false;
  bool active = false;
  uint16_t call = 0;
  uint16_t thread = 0;
  int32_t comm = -1;  // instance
  int32_t peer = -1;
  int32_t tag = -1;
  int64_t bytes = 0;
  uint64_t operation = 0;  // which send, receive or collective of the process
  uint64_t row = 0;        // of the thread's rows
};

class RequestTable {
 public:
  RequestTable() : slots_(64) {}

  void push(uint64_t handle, const Request& request) {
    Slot& slot = slot_of(handle);
    if (slot.count > 0) stacked_[handle].push_back(slot.top);
    slot.top = request;
    ++slot.count;
  }
  // The latest request of this handle; null when there is none.
  Request* find(uint64_t handle) {
    Slot& slot = slot_of(handle);
    return slot.count > 0 ? &slot.top : nullptr;
  }
  void pop(uint64_t handle) {
    Slot& slot = slot_of(handle);
    if (slot.count == 0 || --slot.count == 0) return;
    auto& stacked = stacked_[handle];
    slot.top = stacked.back();
    stacked.pop_back();
  }

 private:
  struct Slot {
    uint64_t handle = 0;
    bool used = false;
    uint32_t count = 0;
    Request top;
  };

  static size_t hash(uint64_t handle) { return (handle * 0x9E3779B97F4A7C15u) >> 20; }

  Slot& slot_of(uint64_t handle) {
    size_t mask = slots_.size() - 1;
    size_t at = hash(handle) & mask;
    while (slots_[at].used && slots_[at].handle != handle) at = (at + 1) & mask;
    if (!slots_[at].used) {
      if (2 * used_ >= slots_.size()) {
        grow();
        return slot_of(handle);
      }
      ++used_;
      slots_[at].used = true;
      slots_[at].handle = handle;
    }
    return slots_[at];
  }

  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    size_t mask = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (!slot.used) continue;
      size_t at = hash(slot.handle) & mask;
      while (slots_[at].used) at = (at + 1) & mask;
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
  std::unordered_map<uint64_t, std::vector<Request>> stacked_;
};

}  // namespace sesame::postprocess
