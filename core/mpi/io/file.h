// Open files of MPI-IO. SharedFile is what the ranks that opened it together have in common,
// FileObject one rank's handle of it with its view and pointers.
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
class RangeLocks;

// A collective call that some ranks of a file have made and others not yet.
struct CollectiveCall {
  uint16_t call = 0;
  int rank = 0;  // the first to make it
  int arrived = 0;
};

struct SharedFile : std::enable_shared_from_this<SharedFile> {
  std::string name;  // as the program wrote it
  std::string path;  // absolute
  // Of the bytes, by rank: a node-local file system has a file on each node.
  std::vector<std::string> host_paths;
  machine::CollectiveParameters collective;  // before any hints
  int64_t shared_position = 0;               // in elementary items of the view
  bool delete_on_close = false;
  // Collective calls by their order, from number `first_call` on.
  std::deque<CollectiveCall> calls;
  uint64_t first_call = 0;
  std::map<int, std::shared_ptr<DirectedCall>> directed_calls;  // under way, by collective's tag
  std::map<int, std::vector<int>> aggregators;  // of two-phase I/O, by how many are wanted
};

struct Representation;  // representation.h

struct FileView {
  int64_t displacement = 0;
  DatatypeRef etype;
  DatatypeRef filetype;
  const Representation* representation = nullptr;
  // Both types as they are in the file: the same unless the representation has other sizes.
  DatatypeRef stored_etype;
  DatatypeRef stored_filetype;
};

// The collective call that a split one has begun.
struct SplitCall {
  uint16_t begun = 0;  // the CallId of its first half; 0: there is none
  void* buffer = nullptr;
  std::unique_ptr<RequestObject> request;
};

// A hint that leaves the choice to the library or not.
enum class Choice : uint8_t { kAutomatic, kEnable, kDisable };

struct FileObject : Counted {
  File handle{};
  CommObject* comm = nullptr;  // the file's own, a duplicate of the one it was opened with
  std::shared_ptr<SharedFile> shared;
  std::shared_ptr<storage::PositionalFile> open;  // its bytes and room
  FileView view;
  int64_t position = 0;  // in elementary items of the view
  int amode = 0;
  // How data moves. Each rank has its own: hints change at different times on different ranks.
  machine::CollectiveParameters collective;
  Choice read_sieving = Choice::kAutomatic;  // hint romio_ds_read
  Choice write_sieving = Choice::kAutomatic;
  bool atomic = false;
  ErrhandlerObject* errhandler = nullptr;
  InfoObject* info = nullptr;
  int opening = 0;                // its number among those of the rank
  uint64_t collective_calls = 0;  // so far
  int pending = 0;                // non-blocking calls under way
  SplitCall split;

  FileObject();
  ~FileObject();
  // What holds of the hint and the machine, which may have no sieving at all.
  Choice sieving(storage::Direction direction) const {
    if (!collective.sieving) return Choice::kDisable;
    return direction == storage::Direction::kRead ? read_sieving : write_sieving;
  }
  bool sieves(storage::Direction direction) const { return sieving(direction) != Choice::kDisable; }
  const storage::ResolvedPath& path() const { return open->path(); }
  // Whether no rank before this one has the same file of the host: then it acts for those that do.
  bool is_first_of_host_file() const;
};

// Ranges of the file that ranks have locked, whatever handle they have.
RangeLocks& locks_of(const FileObject& file);

// Null unless the handle is that of an open file of the running rank.
FileObject* find_file(File handle);
// MPI_SUCCESS and the object, or MPI_ERR_FILE.
int check_file(File handle, FileObject** file);

}  // namespace sesame::mpi
