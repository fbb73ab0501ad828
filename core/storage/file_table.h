// The files that a file system knows: names, sizes and what was done with them. Both levels of
// detail have one.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/storage/file_system.h"

namespace sesame::storage {

class FileTable {
 public:
  FileId find(const std::string& name);
  void count(const Access& access);  // elements, bytes and seeks
  FileStatistics& totals(FileId file) { return files_[index(file)].totals; }
  uint64_t size(FileId file) const { return files_[index(file)].size; }
  void set_size(FileId file, uint64_t bytes);
  bool had_data(FileId file) const { return files_[index(file)].had_data; }
  // Whether files of `capacity` bytes together (0: without end) have room for this one.
  bool has_room(FileId file, uint64_t bytes, uint64_t capacity) const {
    const uint64_t before = size(file);
    return bytes <= before || capacity == 0 || used_ - before + bytes <= capacity;
  }
  // Behind this end the file has never been written: nothing has to be read there.
  uint64_t contents_end(FileId file) const { return files_[index(file)].contents_end; }
  void note_contents(FileId file, uint64_t end);
  void note_contents(const Access& write);
  size_t count_of_files() const { return files_.size(); }
  std::vector<FileStatistics> statistics() const;

  // A node opens or closes the file. How many nodes' shares of a shared open are due now: none for
  // the first node, its own and the first's for the second, one for each after these.
  int open_on(FileId file, int node);
  void close_on(FileId file, int node);

 private:
  struct Opening {
    int node;
    int times;
  };
  struct Known {
    FileStatistics totals;
    uint64_t size = 0;
    bool had_data = false;  // at any time
    uint64_t contents_end = 0;
    std::vector<uint64_t> ends;  // by rank: where its last element ended
    std::vector<Opening> open;
  };
  static size_t index(FileId file) { return static_cast<size_t>(file); }

  std::vector<Known> files_;
  std::unordered_map<std::string, FileId> by_name_;
  uint64_t used_ = 0;  // sum of all sizes
};

}  // namespace sesame::storage
