#include "core/mpi/io/file_record.h"

#include "core/mpi/io/file.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi {

using storage::FileCallRecord;

FileCallRecord* begin_file_record(const std::string& path) {
  Rank& rank = this_rank();
  if (rank.world.recorder == nullptr) return nullptr;
  rank.file_record = std::make_unique<FileCallRecord>();
  rank.file_record->path = path;
  return rank.file_record.get();
}

FileCallRecord* begin_file_record(const FileObject& file) {
  FileCallRecord* record = begin_file_record(file.shared->path);
  if (record != nullptr) record->handle = file.open_number;
  return record;
}

FileCallRecord* current_file_record() { return this_rank().file_record.get(); }

}  // namespace sesame::mpi
