// The descriptors of one process: which opening of which file each stands for, and the position.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/postprocess/files.h"

namespace sesame::postprocess {

// What descriptors made by dup share.
struct Opening {
  int32_t file = -1;
  int32_t handle = -1;    // number of the opening in the process
  int64_t position = -1;  // -1 for what has none, as a pipe
  bool append = false;
  uint32_t descriptors = 0;  // that stand for it
};

class Descriptors {
 public:
  explicit Descriptors(FileTable& files) : files_(files) {}

  void set_directory(std::string_view path) { directory_ = path; }
  // The absolute path of what a call names; `base` is -100 for the working directory.
  std::string path_of(int32_t base, std::string_view path) const;
  int32_t file_of(int32_t base, std::string_view path) { return files_.find(path_of(base, path)); }
  void change_directory(std::string path) { directory_ = std::move(path); }
  void change_directory_to(int32_t descriptor);

  // A descriptor that came into being between `time - duration` and `time`.
  Opening& open(int32_t descriptor, int32_t file, bool append, int64_t position, int64_t time);
  void duplicate(int32_t descriptor, int32_t copy, int64_t time);
  // A close that began at `begin`; gives what it closed. An opening that ended later is another
  // one, by a thread that got the number as soon as it was free.
  Opening close(int32_t descriptor, int64_t begin);
  // Never null: an unknown descriptor becomes an unknown file.
  Opening& get(int32_t descriptor) {
    auto at = static_cast<size_t>(descriptor);
    if (descriptor >= 0 && at < slots_.size() && slots_[at].opening >= 0) [[likely]] {
      return openings_[static_cast<size_t>(slots_[at].opening)];
    }
    return unknown(descriptor);
  }

  int32_t next_handle() { return handles_++; }

  // Data moved at the opening's own position: where it began.
  int64_t advance(Opening& opening, int64_t bytes, bool writes) {
    if (opening.position < 0) return -1;
    FileFacts& file = files_[opening.file];
    if (writes && opening.append && file.length >= 0) opening.position = file.length;
    int64_t offset = opening.position;
    opening.position += bytes;
    if (writes && opening.position > file.length) file.length = opening.position;
    return offset;
  }
  void moved(const Opening& opening, int64_t end, bool writes) {
    FileFacts& file = files_[opening.file];
    if (writes && end > file.length) file.length = end;
  }

 private:
  struct Slot {
    int32_t opening = -1;
    int64_t since = 0;
    Opening replaced;  // what the descriptor stood for before, if that was not closed
  };

  Slot& slot(int32_t descriptor);
  void release(Slot& slot);
  Opening& unknown(int32_t descriptor);

  FileTable& files_;
  std::string directory_;
  std::vector<Slot> slots_;
  std::vector<Opening> openings_;
  std::vector<int32_t> free_;  // openings that nothing stands for
  int32_t handles_ = 0;
  Opening outside_;  // of an impossible descriptor
};

}  // namespace sesame::postprocess
