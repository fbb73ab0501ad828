// The record of the running MPI-IO call (storage::FileCallRecord). A call begins its record when
// its file is known, and then fills in the other fields; CallScope gives the record to the recorder
// at the end of the call. All functions return null if the run has no recorder.
#pragma once

#include <string>

#include "core/storage/file_call_record.h"

namespace sesame::mpi {

struct FileObject;

// Begins the record of the rank's running call, about this open file or this absolute path. The
// rank owns it.
storage::FileCallRecord* begin_file_record(const FileObject& file);
storage::FileCallRecord* begin_file_record(const std::string& path);
// The record of the running call; null before begin_file_record().
storage::FileCallRecord* current_file_record();

}  // namespace sesame::mpi
