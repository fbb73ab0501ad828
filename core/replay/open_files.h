// The open files of one traced process. The threads that play its streams share them.
#pragma once

#include <aio.h>
#include <dirent.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <vector>

namespace sesame::replay {

struct PlanOpened;

struct OpenFile {
  int fd = -1;
  FILE* stream = nullptr;
  DIR* directory = nullptr;
  char* mapped = nullptr;
  int64_t mapped_size = 0;
  int64_t mapped_offset = 0;
  int64_t mapped_file_size = 0;
  bool direct = false;
  std::vector<int> copies;                           // of dup, closed one by one
  std::vector<std::unique_ptr<aiocb>> asynchronous;  // started, not yet waited for
  std::unique_ptr<char[]> stdio_buffer;
  std::atomic<const PlanOpened*> late = nullptr;  // to be opened at the first use; null: it is open
};

class OpenFiles {
 public:
  explicit OpenFiles(uint32_t slots) : files_(slots) {}
  OpenFile& operator[](int32_t slot) { return files_[static_cast<size_t>(slot)]; }

  std::mutex lock;  // protects members that are not atomic: copies, late opens, asynchronous I/O

 private:
  std::vector<OpenFile> files_;
};

}  // namespace sesame::replay
