// The file descriptors of one traced process: which open file each refers to, and its position.
// Follows the process's records in the order of their ends. Numbers from a damaged trace are
// accepted: they refer to an unknown file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/postprocess/files.h"

namespace sesame::postprocess {

// What descriptors made by dup share (an "open file description" of POSIX).
struct OpenFile {
  int32_t file = -1;
  int32_t handle = -1;    // number of this open in the process
  int64_t position = -1;  // in bytes; -1 for files without, such as pipes
  bool append = false;
  uint32_t descriptors = 0;  // that refer to it
};

class Descriptors {
 public:
  explicit Descriptors(FileTable& files) : files_(files) {}

  void set_directory(std::string_view path) { directory_ = path; }
  // The absolute path that a call means. `base`: the directory's descriptor, or -100 (AT_FDCWD).
  std::string path_of(int32_t base, std::string_view path) const;
  int32_t file_of(int32_t base, std::string_view path) { return files_.find(path_of(base, path)); }
  void change_directory(std::string path) { directory_ = std::move(path); }
  void change_directory_to(int32_t descriptor);

  // Records that `descriptor` was opened; `time` is the end of the call.
  OpenFile& open(int32_t descriptor, int32_t file, bool append, int64_t position, int64_t time);
  void duplicate(int32_t descriptor, int32_t copy, int64_t time);
  // Records a close that began at `begin`; returns the closed file. If the number was opened again
  // after `begin`, another thread got it as soon as it was free: the closed file is the earlier
  // one.
  OpenFile close(int32_t descriptor, int64_t begin);
  // Never null: an unknown descriptor becomes an unknown file.
  OpenFile& get(int32_t descriptor) {
    auto at = static_cast<size_t>(descriptor);
    if (descriptor >= 0 && at < slots_.size() && slots_[at].open_file >= 0) [[likely]] {
      return open_files_[static_cast<size_t>(slots_[at].open_file)];
    }
    return unknown(descriptor);
  }

  int32_t next_handle() { return handles_++; }  // for an open without a descriptor: an MPI file

  // Moves the file's own position by a transfer; returns the position before it.
  int64_t advance(OpenFile& open_file, int64_t bytes, bool writes) {
    if (open_file.position < 0) return -1;
    FileFacts& file = files_[open_file.file];
    if (writes && open_file.append && file.length >= 0) open_file.position = file.length;
    int64_t offset = open_file.position;
    open_file.position += bytes;
    if (writes && open_file.position > file.length) file.length = open_file.position;
    return offset;
  }
  // Records a transfer that ended at offset `end` and did not use the position.
  void moved(const OpenFile& open_file, int64_t end, bool writes) {
    FileFacts& file = files_[open_file.file];
    if (writes && end > file.length) file.length = end;
  }

 private:
  struct Slot {
    int32_t open_file = -1;
    int64_t since = 0;
    OpenFile replaced;  // the file before, if it was not closed
  };

  Slot& slot(int32_t descriptor);
  void release(Slot& slot);
  OpenFile& unknown(int32_t descriptor);

  FileTable& files_;
  std::string directory_;
  std::vector<Slot> slots_;
  std::vector<OpenFile> open_files_;
  std::vector<int32_t> free_;  // indices of open_files_ without descriptor
  int32_t handles_ = 0;
  OpenFile outside_;  // for descriptor numbers out of range
};

}  // namespace sesame::postprocess
