// Open files of MPI-IO. FileObject is one rank's handle, with its view and pointers. SharedFile is
// the state that all ranks of one MPI_File_open share; each FileObject holds a reference to it.
//
// MPI_File_open makes both (open.cc). Calls find the FileObject by its handle with check_file()
// (file_tables.h), which gives MPI_ERR_FILE for a handle that is not open. MPI_File_close drops the
// handle's reference; the last rank to close destroys the SharedFile. A rank changes only its own
// FileObject, on its own strands; all ranks run on the simulation thread.
//
// Positions count elementary items (etypes) of the view.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/machine/storage.h"
#include "core/mpi/io/file_handle.h"
#include "core/mpi/messages/request.h"
#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/handle_table.h"
#include "core/storage/open_file.h"

namespace sesame::mpi {

struct DirectedCall;
struct ErrhandlerObject;
struct InfoObject;

// A collective call that some, but not all, ranks of a file have made.
struct CollectiveCall {
  uint16_t call = 0;
  int rank = 0;  // the first rank that made it
  int arrived = 0;
};

struct SharedFile {
  uint64_t number = 0;  // of SharedFiles (shared_files.h)
  std::string name;     // as the program wrote it
  std::string path;     // absolute
  // The host file that stores the bytes, by rank: a node-local file system has one on each node.
  // Two ranks have the same file if these are equal, whether an original was copied or not.
  std::vector<std::string> stored_in;
  machine::CollectiveParameters collective;  // of the machine, before hints
  int64_t shared_position = 0;               // in elementary items of the view
  bool delete_on_close = false;
  // Collective calls that not all ranks have made, in order; the first has number `first_call`.
  std::deque<CollectiveCall> calls;
  uint64_t first_call = 0;
  int ranks_here = 0;  // of this worker: all ranks of the file if there is one; 0: not counted yet
  // Disk-directed calls in progress, by tag of the collective.
  std::map<int, std::shared_ptr<DirectedCall>> directed_calls;
  // Of two-phase I/O, by the requested number of aggregators (cb_nodes).
  std::map<int, std::vector<int>> aggregators;
};

struct Representation;  // representation.h

struct FileView {
  int64_t displacement = 0;
  DatatypeRef etype;
  DatatypeRef filetype;
  const Representation* representation = nullptr;
  // Both types as stored in the file: different only if the representation has other sizes.
  DatatypeRef stored_etype;
  DatatypeRef stored_filetype;
};

// The split collective call that the rank has started.
struct SplitCall {
  uint16_t started = 0;  // the CallId of its first half; 0: none
  void* buffer = nullptr;
  std::unique_ptr<RequestObject> request;
};

// A hint with the values "automatic", "enable" and "disable".
enum class Choice : uint8_t { kAutomatic, kEnable, kDisable };

struct FileObject : Counted {
  File handle{};
  CommObject* comm = nullptr;  // the file's own communicator; owned
  std::shared_ptr<SharedFile> shared;
  std::shared_ptr<storage::PositionalFile> open;  // its bytes and space
  FileView view;
  int64_t position = 0;  // in elementary items of the view
  int amode = 0;
  // The parameters of accesses. Each rank has a copy, because ranks change hints at different
  // times.
  machine::CollectiveParameters collective;
  Choice read_sieving = Choice::kAutomatic;  // hint romio_ds_read
  Choice write_sieving = Choice::kAutomatic;
  bool atomic = false;
  ErrhandlerObject* errhandler = nullptr;
  InfoObject* info = nullptr;
  int open_number = 0;            // its number among the opens of the rank, for records
  uint64_t collective_calls = 0;  // made so far
  int pending = 0;                // non-blocking calls in progress
  SplitCall split;

  FileObject();
  ~FileObject();
  // Data sieving: disabled if the machine file disables it, otherwise as the hint says.
  Choice sieving(storage::Direction direction) const {
    if (!collective.sieving) return Choice::kDisable;
    return direction == storage::Direction::kRead ? read_sieving : write_sieving;
  }
  bool sieves(storage::Direction direction) const { return sieving(direction) != Choice::kDisable; }
  const storage::ResolvedPath& path() const { return open->path(); }
  // Whether no lower rank has the same host file. Such a rank acts for all that share it.
  bool is_first_of_host_file() const;
};

}  // namespace sesame::mpi
