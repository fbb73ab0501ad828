// What a call on a file was about, for the record of the run: filled in by the call, recorded when
// the program goes on.
#pragma once

#include <cstdint>
#include <string>

namespace sesame::mpi {

struct FileObject;
struct Rank;

struct FileNote {
  std::string path;     // absolute, as the program knows it
  int opening = -1;     // number of the opening in this rank
  int64_t offset = -1;  // of the first byte in the file, or where a seek leads
  uint64_t size = 0;    // bytes asked for; for an opening, the flags of open
  uint64_t bytes = 0;   // bytes moved
  int error = 0;
  bool collective = false;
  bool asynchronous = false;
};

// The note of the running call, about this file or this path; null where nothing is recorded.
FileNote* note_file(const FileObject& file);
FileNote* note_path(const std::string& path);
// That of the running call, if there is one.
FileNote* current_note();

}  // namespace sesame::mpi
