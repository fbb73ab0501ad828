// Stands in for core/loader/process.h in the library of a rank that is a process of its own: what
// the calls on simulated files (core/loader/files.h) need of their rank. There is one.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "core/loader/loader.h"

namespace sesame::loader {

// Descriptors 0, 1 and 2, the working directory and the file mode mask are the kernel's.
inline constexpr bool kRanksShareProcess = false;

inline bool is_host_code(const void*) { return false; }

class RankProcess {
 public:
  int rank = 0;
  int directory = -1;
  int file_mode_mask = -1;
  std::string working_directory;              // as the program sees it
  std::atomic<uint64_t> temporary_names = 0;  // made so far by mkstemp() and the like
};

// Null: the caller means the host's files. So does a process that is no rank, and this library's
// own code.
RankProcess* current();

const SimulationHooks& hooks();

// Says in the result that the rank may use simulated files in this way, which takes no time.
void tell_use_without_time(const char* what);
// Before the process starts another one: the same of files that it will inherit.
void tell_inherited_files();

// Protects the tables of files and streams that are open. Recursive, because signal handlers may
// call; held by no other thread when the process forks. Not while a request waits.
class TableLock {
 public:
  TableLock();
  ~TableLock();
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;
};

void set_working_directory(RankProcess& process, const std::string& path);

inline void swap_directories_from_now_on() {}

}  // namespace sesame::loader
