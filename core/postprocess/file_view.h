// An MPI file view: maps offsets in the view's data to offsets in the file. All numbers in bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/traced_records.h"

namespace sesame::postprocess {

// Blocks of one size in a filetype, each `stride` after the one before.
struct ViewRun {
  int64_t offset = 0;
  int64_t bytes = 0;
  int64_t count = 1;
  int64_t stride = 0;
};

class FileView {
 public:
  FileView() = default;  // the view of a file that was just opened: all its bytes
  explicit FileView(const trace::mpi_view_record& record);

  // The file offset of byte `data` of the view's data; -1 if there is none. If the layout of the
  // filetype is unknown, the holes are assumed to be at its end.
  int64_t file_offset(int64_t data) const;

  // Whether `bytes` of data from `data` on are contiguous in the file.
  bool is_contiguous(int64_t data, int64_t bytes) const;

  // Whether the view's data may be non-contiguous in the file.
  bool has_holes() const;

  // OFFSET+BYTES, or OFFSET+BYTESxCOUNT/STRIDE, for each run, with commas between; empty when they
  // are not known.
  std::string text() const;

  int64_t displacement() const { return displacement_; }
  int64_t etype_size() const { return etype_size_; }
  int64_t size() const { return size_; }
  int64_t extent() const { return extent_; }

 private:
  // The offset of a byte in the filetype, and the bytes from it to the end of its block.
  struct Position {
    int64_t offset;
    int64_t left;
  };

  void read_runs(const trace::ListView& numbers);
  Position find(int64_t data) const;

  int64_t displacement_ = 0;
  int64_t etype_size_ = 1;
  int64_t size_ = 1;    // data in a filetype
  int64_t extent_ = 1;  // of a filetype
  std::vector<ViewRun> runs_;
  std::vector<int64_t> before_;  // data before each run
};

}  // namespace sesame::postprocess
