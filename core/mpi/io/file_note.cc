#include "core/mpi/io/file_note.h"

#include "core/mpi/io/file.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi {

FileNote* note_path(const std::string& path) {
  Rank& rank = this_rank();
  if (rank.world.recorder == nullptr) return nullptr;
  rank.file_note = std::make_shared<FileNote>();
  rank.file_note->path = path;
  return rank.file_note.get();
}

FileNote* note_file(const FileObject& file) {
  FileNote* note = note_path(file.shared->path);
  if (note != nullptr) note->opening = file.opening;
  return note;
}

FileNote* current_note() { return this_rank().file_note.get(); }

}  // namespace sesame::mpi
