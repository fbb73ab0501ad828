// The record of the running MPI-IO call (storage::FileCallRecord). The call begins it when it knows
// its file and fills in what else it learns; CallScope gives it to the recorder when the call ends.
// All functions return null where nothing is recorded.
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
