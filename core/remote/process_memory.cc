#include <limits.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/mpi/messages/world.h"
#include "core/remote/messages.h"
#include "core/remote/process.h"

namespace sesame::remote {
namespace {

constexpr size_t kSmallWrite = 2048;

}  // namespace

void ProcessMemory::fail_at(const void* address, const char* what) {
  const mpi::Rank& rank = *world_->ranks[static_cast<size_t>(rank_)];
  if (errno == ESRCH) {
    const auto call = static_cast<mpi::CallId>(rank.main.call);
    const bool is_in_call = rank.main.call_depth > 0;
    world_->hooks.abort_job(
        1, rank.name() + " ended" +
               (is_in_call ? std::string(" while it was in ") + mpi::call_name(call) : ""));
  }
  char place[32];
  std::snprintf(place, sizeof place, "0x%lx",
                static_cast<unsigned long>(mpi::address_there(address)));
  world_->hooks.abort_job(128 + 11, rank.name() + ": the simulator cannot " + what +
                                        " its buffer at " + place + ": " + std::strerror(errno));
  __builtin_unreachable();
}

// Moves all ranges by as few system calls as possible.
void ProcessMemory::transfer(Transfer call, const mpi::RemoteRange* ranges, size_t count,
                             char* packed, const char* what) {
  if (has_ended_ && call == process_vm_writev) return;
  iovec there[IOV_MAX];
  for (size_t next = 0; next < count;) {
    const size_t batch = std::min<size_t>(count - next, IOV_MAX);
    size_t bytes = 0;
    for (size_t i = 0; i < batch; ++i) {
      const mpi::RemoteRange& range = ranges[next + i];
      there[i] = {reinterpret_cast<void*>(mpi::address_there(range.address)), range.bytes};
      bytes += range.bytes;
    }
    const iovec here{packed, bytes};
    const ssize_t moved = call(process_, &here, 1, there, batch, 0);
    if (moved != static_cast<ssize_t>(bytes)) fail_at(ranges[next].address, what);
    packed += bytes;
    next += batch;
  }
}

// What a request has sent or a reply will write; false if the process's memory must be looked at.
bool ProcessMemory::read_known(uint64_t address, size_t bytes, char* to) {
  for (auto write = writes_.rbegin(); write != writes_.rend(); ++write) {
    if (address >= write->address + write->bytes || write->address >= address + bytes) continue;
    if (address < write->address || address + bytes > write->address + write->bytes) {
      make_writes();
      return false;
    }
    std::memcpy(to, kept_.data() + write->at + (address - write->address), bytes);
    return true;
  }
  for (const Window& window : windows_) {
    if (address < window.address || address + bytes > window.address + window.bytes) continue;
    std::memcpy(to, window.data + (address - window.address), bytes);
    return true;
  }
  return false;
}

void ProcessMemory::read(const mpi::RemoteRange* ranges, size_t count, char* packed) {
  if (count == 1) {
    if (read_known(mpi::address_there(ranges->address), ranges->bytes, packed)) return;
  } else {
    make_writes();
  }
  transfer(process_vm_readv, ranges, count, packed, "read");
}

void ProcessMemory::write(const mpi::RemoteRange* ranges, size_t count, const char* packed) {
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) bytes += 16 + padded(ranges[i].bytes);
  const bool is_made_now = bytes > kSmallWrite || is_shared_;
  if (is_made_now || kept_.size() + bytes > kWriteBytes) make_writes();
  if (is_made_now) {
    note_received(ranges, count);
    return transfer(process_vm_writev, ranges, count, const_cast<char*>(packed), "write");
  }
  for (size_t i = 0; i < count; ++i) {
    const uint64_t address = mpi::address_there(ranges[i].address);
    const size_t size = ranges[i].bytes;
    const size_t begin = kept_.size();
    kept_.resize(begin + 16 + padded(size));
    std::memcpy(kept_.data() + begin, &address, 8);
    std::memcpy(kept_.data() + begin + 8, &size, 8);
    std::memcpy(kept_.data() + begin + 16, packed, size);
    writes_.push_back({address, size, begin + 16});
    packed += size;
  }
}

void ProcessMemory::note_received(const mpi::RemoteRange* ranges, size_t count) {
  for (size_t i = count - std::min(count, kMostReceived); i < count; ++i)
    received_.push_back({mpi::address_there(ranges[i].address), ranges[i].bytes});
  if (received_.size() > 2 * kMostReceived)
    received_.erase(received_.begin(), received_.end() - kMostReceived);
}

// Makes the kept writes now.
void ProcessMemory::make_writes() {
  for (const Write& write : writes_) {
    const mpi::RemoteRange range{mpi::remote_address(rank_, write.address), write.bytes};
    transfer(process_vm_writev, &range, 1, kept_.data() + write.at, "write");
  }
  writes_.clear();
  kept_.clear();
}

void ProcessMemory::set_process(pid_t process) {
  process_ = process;
  windows_.clear();
  writes_.clear();
  kept_.clear();
  received_.clear();
}

uint32_t ProcessMemory::hand_over_writes() {
  const auto bytes = static_cast<uint32_t>(kept_.size());
  if (bytes > 0) std::memcpy(slot_.writes, kept_.data(), bytes);
  writes_.clear();
  kept_.clear();
  return bytes;
}

// Of what is more than the caches hold, the last bytes are those that stay there.
uint8_t ProcessMemory::hand_over_received(Slot& slot) {
  size_t count = 0;
  uint64_t left = kMostReceivedBytes;
  for (size_t i = received_.size(); i-- > 0 && count < kMostReceived && left > 0;) {
    const auto [address, bytes] = received_[i];
    const uint64_t kept = std::min(bytes, left);
    slot.received[count++] = {address + bytes - kept, kept};
    left -= kept;
  }
  received_.clear();
  return static_cast<uint8_t>(slot.target_time == 0 ? 0 : count);
}

}  // namespace sesame::remote
