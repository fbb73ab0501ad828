// FileCallRecord: one call of a rank that concerns a file, of MPI-IO, POSIX or stdio. It is the
// record of the tables and raw streams, and has in addition the names of file and call, which the
// recorder replaces by numbers.
//
// The code that serves the call fills in what it knows, and passes the record to the recorder when
// the call ends. Times are simulated picoseconds, sizes and offsets bytes (core/trace/records.def).
#pragma once

#include <string>

#include "core/trace/record.h"

namespace sesame::storage {

struct FileCallRecord : sesame_file_call_record {
  FileCallRecord() : sesame_file_call_record{} { offset = file = handle = -1; }

  const char* name = nullptr;  // of the call: "MPI_File_write_at_all", "pwrite"; not owned
  std::string path;            // of the file as the program sees it, absolute; empty: unknown
};

}  // namespace sesame::storage
