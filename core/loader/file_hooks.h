// FileHooks: callbacks by which the loader charges simulated time for a program's POSIX and stdio
// calls on simulated files. The file layer (core/storage) has names, bytes and space; the hooks say
// when a call begins and ends, and block the rank while its requests are served.
//
// The simulator sets them once (SimulationHooks::files). They are called while a rank is active,
// for that rank, on its own stack; those that charge time block it.
#pragma once

#include <cstdint>
#include <span>

#include "core/storage/file_call_record.h"
#include "core/storage/open_file.h"

namespace sesame::loader {

struct FileHooks {
  storage::Mounts* mounts = nullptr;  // outlives the ranks
  int (*node)() = nullptr;            // of the rank

  // Around each call. begin() returns when everything earlier in simulated time has happened, and
  // sets begin_ps; end() sets end_ps and keeps the record. The time between them is I/O.
  void (*begin)(storage::FileCallRecord& record) = nullptr;
  void (*end)(storage::FileCallRecord& record) = nullptr;

  // Returns when everything earlier in simulated time has happened, as begin().
  void (*await_turn)() = nullptr;

  // Between begin() and end(): block the rank for one request to the file system.
  void (*charge_metadata)(const storage::ResolvedPath& path, storage::MetadataCall call) = nullptr;
  void (*charge_access)(const storage::OpenFile& file, storage::Direction direction,
                        const storage::Extent& extent) = nullptr;
  void (*charge_flush)(const storage::OpenFile& file) = nullptr;

  // Asynchronous transfers: start one between begin() and end(), test it, wait for its end. Several
  // threads of a process may wait for the same one. release(), once for each ticket, is for one
  // that has been waited for and that no call uses any more.
  void* (*start_access)(const storage::OpenFile& file, storage::Direction direction,
                        const storage::Extent& extent) = nullptr;
  bool (*is_done)(void* ticket) = nullptr;
  void (*wait_for)(void* ticket) = nullptr;
  void (*release)(void* ticket) = nullptr;
  // Waits for the first of several to end, but for `limit_ns` at most; any time if that is
  // negative. Returns its index, or their number if none has ended.
  size_t (*wait_for_any)(std::span<void* const> tickets, int64_t limit_ns) = nullptr;
};

}  // namespace sesame::loader
