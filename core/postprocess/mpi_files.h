// The MPI files of one process: their views and positions. With them IoReader finds which bytes of
// the file a call moved.
//
// Use: give it the records in order: open(), set_view(), close(); between them get() the file of a
// data record and advance its `position`. Numbers are the tracer's; they are reused after close().
// Damaged traces are no error: a number that is out of range or not open gives an empty MpiFile,
// valid until the next call. open() and get() invalidate references. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "core/postprocess/file_view.h"
#include "core/trace/traced_records.h"

namespace sesame::postprocess {

struct MpiFile {
  int32_t file = -1;       // of the process; -1 for a number that is not in use
  int32_t handle = -1;     // number of this open in the process
  int32_t comm = -1;       // index in the job
  int64_t split_row = -1;  // row of a split collective call in progress; -1 for none
  uint16_t split_thread = 0;
  int64_t position = 0;  // of the file pointer in the view, in bytes of data; -1 if unknown
  FileView view;
};

class MpiFiles {
 public:
  MpiFile& open(int32_t number, int32_t file, int32_t handle, int32_t comm);
  void close(int32_t number);
  // The file with the tracer's number; an empty MpiFile if it was not opened.
  MpiFile& get(int32_t number);
  const FileView& set_view(const trace::mpi_view_record& record);  // sets the position to 0

 private:
  std::vector<MpiFile> files_;
  MpiFile outside_;  // for file numbers out of range
};

}  // namespace sesame::postprocess
