// Open files of MPI-IO. SharedFile is what the ranks that opened it together have in common,
// FileObject one rank's handle of it with its view and pointers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/machine/storage.h"
#include "core/mpi/comm.h"
#include "core/mpi/constants.h"
#include "core/mpi/datatype.h"
#include "core/mpi/handle_table.h"
#include "core/storage/mounts.h"

namespace sesame::mpi {

struct ErrhandlerObject;
struct InfoObject;

struct SharedFile {
  std::string name;                    // as the program wrote it
  std::vector<storage::Place> places;  // by rank: a node-local file system has one for each node
  int descriptor = -1;                 // of the real bytes
  machine::CollectiveParameters collective;
  int64_t shared_position = 0;  // in elementary items of the view
  bool delete_on_close = false;
  bool discards_data = false;
};

struct FileView {
  int64_t displacement = 0;
  DatatypeRef etype;
  DatatypeRef filetype;
  bool external32 = false;
};

struct FileObject : Counted {
  File handle{};
  CommObject* comm = nullptr;  // the file's own, a duplicate of the one it was opened with
  std::shared_ptr<SharedFile> shared;
  FileView view;
  int64_t position = 0;  // in elementary items of the view
  int amode = 0;
  bool atomic = false;
  ErrhandlerObject* errhandler = nullptr;
  InfoObject* info = nullptr;
};

}  // namespace sesame::mpi
