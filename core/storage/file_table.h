// FileTable: the files of one file system model, with their sizes and statistics. Both levels of
// detail (full.h, analytic.h) use one. Files are numbered from 0 in the order of their first
// find().
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/storage/file_system.h"

namespace sesame::storage {

class FileTable {
 public:
  // Returns the file of that name; makes it at the first call.
  FileId find(const std::string& name);
  // The next find() of this name makes a new file.
  void release_name(const std::string& name) { by_name_.erase(name); }
  void count(const Access& access);  // adds its elements, bytes and seeks to the file's totals
  FileStatistics& totals(FileId file) { return files_[index(file)].totals; }
  uint64_t size(FileId file) const { return files_[index(file)].size; }
  void set_size(FileId file, uint64_t bytes);
  // Whether the file ever had a size above 0.
  bool had_data(FileId file) const { return files_[index(file)].had_data; }
  // Whether this file could have `bytes` bytes in a file system of `capacity` bytes (0: unlimited).
  bool has_space(FileId file, uint64_t bytes, uint64_t capacity) const {
    const uint64_t before = size(file);
    return bytes <= before || capacity == 0 || used_ - before + bytes <= capacity;
  }
  // The end of the last byte ever written. Beyond it, blocks need not be read.
  uint64_t contents_end(FileId file) const { return files_[index(file)].contents_end; }
  void extend_contents(FileId file, uint64_t end);
  void extend_contents(const Access& write);

  // Totals by name, in the order of first use: files that had the same name count as one.
  std::vector<FileStatistics> statistics() const;

  // A node opens or closes the file. open_on() returns how many times the cost of a shared open
  // (open_per_node) is due: 0 for the first node, 2 for the second (its own and that of the first),
  // 1 for each further node, 0 for a node that has it open already.
  int open_on(FileId file, int node);
  void close_on(FileId file, int node);

 private:
  struct NodeOpens {
    int node;
    int count;
  };
  struct Entry {
    FileStatistics totals;
    uint64_t size = 0;
    bool had_data = false;  // ever
    uint64_t contents_end = 0;
    std::vector<uint64_t> ends;  // by rank: where its previous element ended
    std::vector<NodeOpens> open;
  };
  static size_t index(FileId file) { return static_cast<size_t>(file); }

  std::vector<Entry> files_;
  std::unordered_map<std::string, FileId> by_name_;
  uint64_t used_ = 0;  // sum of all sizes
};

}  // namespace sesame::storage
