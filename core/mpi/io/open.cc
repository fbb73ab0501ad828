// MPI_File_open, _close and _delete (MPI 4.1, 14.2).
#include <fcntl.h>
#include <cerrno>

#include <bit>
#include <filesystem>

#include "core/mpi/api.h"
#include "core/mpi/collectives/barrier.h"
#include "core/mpi/communicators/agree.h"
#include "core/mpi/communicators/comm_create.h"
#include "core/mpi/io/file_call.h"
#include "core/mpi/io/file_errors.h"
#include "core/mpi/io/file_record.h"
#include "core/mpi/io/file_tables.h"
#include "core/mpi/io/file_time.h"
#include "core/mpi/io/hints.h"
#include "core/mpi/io/representation.h"
#include "core/mpi/io/seek.h"
#include "core/mpi/io/shared_files.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errhandler.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/info.h"

namespace sesame::mpi {
namespace {

using storage::MetadataCall;
using storage::PathIntent;
using storage::PositionalFile;
using storage::ResolvedPath;

constexpr int kAccessModes = MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR;
constexpr int kAllModes = kAccessModes | MPI_MODE_CREATE | MPI_MODE_EXCL |
                          MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN | MPI_MODE_APPEND |
                          MPI_MODE_SEQUENTIAL;

int check_amode(int amode) {
  if ((amode & ~kAllModes) != 0) {
    return fail(MPI_ERR_AMODE, "the access mode has bits that no MPI_MODE_ has");
  }
  if (std::popcount(static_cast<unsigned>(amode & kAccessModes)) != 1) {
    return fail(MPI_ERR_AMODE,
                "exactly one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR is needed");
  }
  if ((amode & MPI_MODE_RDONLY) != 0 && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0) {
    return fail(MPI_ERR_AMODE, "MPI_MODE_CREATE and MPI_MODE_EXCL do not go with MPI_MODE_RDONLY");
  }
  if ((amode & MPI_MODE_RDWR) != 0 && (amode & MPI_MODE_SEQUENTIAL) != 0) {
    return fail(MPI_ERR_AMODE, "MPI_MODE_SEQUENTIAL does not go with MPI_MODE_RDWR");
  }
  return MPI_SUCCESS;
}

// A name may begin with a driver of ROMIO, as in "ufs:name". It is ignored.
std::string_view without_driver(std::string_view name) {
  for (const char* driver : {"ufs:", "nfs:", "xfs:", "gpfs:", "panfs:", "lustre:", "pvfs2:",
                             "quobytefs:", "ime:", "daos:", "testfs:"}) {
    if (name.starts_with(driver)) return name.substr(std::string_view(driver).size());
  }
  return name;
}

std::string path_of(const char* given) {
  const Rank& rank = this_rank();
  const std::string_view name = without_driver(given);
  const auto directory = rank.world.hooks.working_directory;
  const std::filesystem::path path = directory == nullptr
                                         ? std::filesystem::absolute(name)
                                         : std::filesystem::path(directory(rank)) / name;
  return path.lexically_normal().string();
}

ResolvedPath locate(const Rank& rank, const std::string& path, PathIntent intent) {
  storage::Mounts* mounts = rank.world.mounts.get();
  ResolvedPath found;
  if (mounts != nullptr) {
    const int node = rank.world.network.node_of(rank.id);
    found = mounts->locate(path, node, intent);
  }
  if (found.is_simulated() || found.error != 0) return found;
  record_host_file(rank.world, path);
  found.host_path = path;
  return found;
}

// Checks the file name of a call.
int check_name(const char* name) {
  if (name == nullptr) return fail(MPI_ERR_ARG, "the file name is a null pointer");
  if (*name == '\0') return fail(MPI_ERR_BAD_FILE, "the file name is empty");
  return MPI_SUCCESS;
}

// Opens the file on one rank and charges the modelled time.
int open_on_rank(const ResolvedPath& path, const std::string& name, int amode, bool creates,
                 std::shared_ptr<PositionalFile>* open) {
  if (path.error != 0) return fail_host_call("open", name, path.error);
  Strand& strand = self();
  yield_for_files(strand);
  storage::OpenMode mode;
  mode.writes = (amode & MPI_MODE_RDONLY) == 0;
  mode.create = creates && (amode & MPI_MODE_CREATE) != 0;
  mode.exclusive = mode.create && (amode & MPI_MODE_EXCL) != 0;
  const bool is_new = mode.create && !storage::host_file_exists(path.host_path);
  const int error = PositionalFile::open(strand.rank->world.mounts.get(), path, mode, open);
  yield_for_files(strand);
  charge_metadata(strand, path, is_new ? MetadataCall::kCreate : MetadataCall::kOpen);
  return error == 0 ? MPI_SUCCESS : fail_host_call("open", name, error);
}

// The arguments of one rank's call, and its results.
struct OpenCall {
  const char* name;
  int amode;
  InfoObject* hints;
  std::shared_ptr<SharedFile> shared;
  std::shared_ptr<PositionalFile> open;
};

// Returns the rank's own error, or an error of another rank if there is one.
int agree_on_error(ControlGroup& control, int error) {
  int worst[1] = {error};
  control.maximum(worst);
  if (error != MPI_SUCCESS) return error;
  if (worst[0] == MPI_SUCCESS) return MPI_SUCCESS;
  return fail(worst[0], "another rank could not open the file");
}

int agree_on_amode(ControlGroup& control, const OpenCall& call, int error) {
  int values[3] = {error, call.amode, ~call.amode};
  control.maximum(values);
  if (error != MPI_SUCCESS) return error;
  if (values[0] != MPI_SUCCESS) return fail(values[0], "another rank's arguments are wrong");
  if (values[1] == ~values[2]) return MPI_SUCCESS;
  return fail(MPI_ERR_NOT_SAME, "not all ranks give the same access mode");
}

std::shared_ptr<SharedFile> new_shared(const OpenCall& call, const std::string& path,
                                       const ResolvedPath& found, int ranks) {
  World& world = this_rank().world;
  SharedFile shared;
  shared.name = call.name;
  shared.path = path;
  shared.stored_in.resize(static_cast<size_t>(ranks));
  shared.stored_in[0] = storage::stored_in(found);
  shared.collective = world.collective_io;
  shared.delete_on_close = (call.amode & MPI_MODE_DELETE_ON_CLOSE) != 0;
  return shared_files(world).open(std::move(shared));
}

int open_first(const OpenCall& call, const ResolvedPath& path,
               std::shared_ptr<PositionalFile>* open) {
  MPI_TRY(open_on_rank(path, call.name, call.amode, true, open));
  const bool may_be_new = (call.amode & MPI_MODE_CREATE) != 0 && path.is_simulated();
  if (may_be_new && call.hints != nullptr) {
    yield_for_files(self());
    path.system->set_striping(path.file, striping_wanted(*call.hints));
  }
  return MPI_SUCCESS;
}

// The first rank creates the file, then the others open it. It broadcasts the number of the shared
// data, eight bytes, in the place of what an MPI library would broadcast.
int open_collectively(ControlGroup& control, OpenCall& call) {
  const Rank& rank = this_rank();
  const std::string path = path_of(call.name);
  yield_for_files(self());  // files must be located in the order of simulated time
  const bool only_reads = (call.amode & MPI_MODE_RDONLY) != 0;
  const ResolvedPath found =
      locate(rank, path, only_reads ? PathIntent::kRead : PathIntent::kWrite);
  std::vector<int> message(3);
  if (control.me() == 0) {
    call.shared = new_shared(call, path, found, control.size());
    message[0] = open_first(call, found, &call.open);
    message[1] = static_cast<int>(call.shared->number >> 32);
    message[2] = static_cast<int>(call.shared->number & 0xffffffff);
  }
  control.broadcast(message, 0);
  if (message[0] != MPI_SUCCESS) {
    return control.me() == 0 ? message[0] : fail(message[0], "the first rank cannot open the file");
  }
  int error = MPI_SUCCESS;
  if (control.me() != 0) {
    SharedFiles& files = shared_files(this_rank().world);
    call.shared = files.find(uint64_t{static_cast<uint32_t>(message[1])} << 32 |
                             static_cast<uint32_t>(message[2]));
    // On a node-local file system each node creates its own file.
    const std::string& stored_in = storage::stored_in(found);
    const bool creates = stored_in != call.shared->stored_in[0];
    yield_for_files(self());
    files.set_stored_in(*call.shared, control.me(), stored_in);
    int amode = call.amode;
    if (creates) amode &= ~MPI_MODE_EXCL;
    error = open_on_rank(found, call.name, amode, creates, &call.open);
  }
  return agree_on_error(control, error);
}

// Makes the file's own communicator, which has no handle.
CommObject* file_comm(const CommObject& parent, uint32_t context, const std::string& name) {
  auto* comm = new CommObject;
  comm->rank = parent.rank;
  comm->local = comm->remote = parent.local;
  comm->context = context;
  comm->name = "the file " + name;
  return comm;
}

FileObject* make_object(OpenCall& call, const CommObject& parent, uint32_t context) {
  Rank& rank = this_rank();
  auto* file = new FileObject;
  file->comm = file_comm(parent, context, call.shared->name);
  file->shared = std::move(call.shared);
  file->open = std::move(call.open);
  file->amode = call.amode;
  file->open_number = file_tables(rank).open_count++;
  file->collective = file->shared->collective;
  const DatatypeRef byte(rank.datatypes.find(MPI_BYTE));
  file->view = {0, byte, byte, &native_representation(), byte, byte};
  file->errhandler = file_tables(rank).errhandler;
  retain(file->errhandler);
  file->info = new InfoObject;
  apply_file_hints(*file, call.hints);
  file->handle = file_handle(file_tables(rank).files.add(file));
  return file;
}

void record_open(const OpenCall& call) {
  storage::FileCallRecord* record = begin_file_record(path_of(call.name));
  if (record == nullptr) return;
  const int access = (call.amode & MPI_MODE_RDWR) != 0     ? O_RDWR
                     : (call.amode & MPI_MODE_WRONLY) != 0 ? O_WRONLY
                                                           : O_RDONLY;
  record->size =
      static_cast<uint64_t>(access | ((call.amode & MPI_MODE_CREATE) != 0 ? O_CREAT : 0) |
                            ((call.amode & MPI_MODE_EXCL) != 0 ? O_EXCL : 0));
  record->flags |= SESAME_FILE_CALL_COLLECTIVE;
}

// After an error of this rank or another one.
void forget(OpenCall& call, bool is_first) {
  yield_for_files(self());
  if (is_first && call.shared != nullptr) shared_files(this_rank().world).close(*call.shared);
  call.open.reset();
}

int open_file(Comm comm, const char* filename, int amode, Info info, File* fh) {
  CommObject* parent;
  MPI_TRY(check_comm(comm, &parent));
  if (parent->is_inter) return fail(MPI_ERR_COMM, "the communicator is an inter-communicator");
  MPI_TRY(check_out(fh, "fh"));
  *fh = nullptr;
  OpenCall call{filename, amode, nullptr, nullptr, nullptr};
  int error = check_name(filename);
  if (error == MPI_SUCCESS) error = check_amode(amode);
  if (error == MPI_SUCCESS) error = check_info(info, &call.hints);
  if (error == MPI_SUCCESS) record_open(call);
  return run_collective(*parent, [&](Transfer& transfer) {
    ControlGroup control(transfer);
    MPI_TRY(agree_on_amode(control, call, error));
    if (const int failed = open_collectively(control, call); failed != MPI_SUCCESS) {
      forget(call, control.me() == 0);
      return failed;
    }
    const uint32_t context = agree_with_all(this_rank(), transfer, kIntraContexts);
    FileObject* file = make_object(call, *parent, context);
    if ((amode & MPI_MODE_APPEND) != 0) {
      uint64_t bytes = 0;
      MPI_TRY(query_file_size(*file, &bytes));
      file->position = static_cast<int64_t>(bytes);
      file->shared->shared_position = static_cast<int64_t>(bytes);
    }
    *fh = file->handle;
    if (storage::FileCallRecord* record = current_file_record()) record->handle = file->open_number;
    return MPI_SUCCESS;
  });
}

int delete_file(const char* filename, Info info) {
  MPI_TRY(check_name(filename));
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  Strand& strand = self();
  const std::string path = path_of(filename);
  begin_file_record(path);
  yield_for_files(strand);
  const ResolvedPath found = locate(*strand.rank, path, PathIntent::kUnlink);
  if (found.error != 0) return fail_host_call("delete", filename, found.error);
  yield_for_files(strand);
  charge_metadata(strand, found, MetadataCall::kRemove);
  yield_for_files(strand);
  const int error = storage::remove_file(strand.rank->world.mounts.get(), found);
  return error == 0 ? MPI_SUCCESS : fail_host_call("delete", filename, error);
}

// The first rank that has this host file removes the name, after all ranks have closed it. What the
// name stands for is looked up again: since the open, the file may have been removed or renamed.
int remove_at_close(Strand& strand, const FileObject& file) {
  if (!file.is_first_of_host_file()) return MPI_SUCCESS;
  yield_for_files(strand);
  const ResolvedPath found = locate(*strand.rank, file.shared->path, PathIntent::kUnlink);
  charge_metadata(strand, found, MetadataCall::kRemove);
  yield_for_files(strand);
  storage::Mounts* mounts = strand.rank->world.mounts.get();
  const int error = found.error == 0 ? storage::remove_file(mounts, found) : found.error;
  if (error == 0 || error == ENOENT) return MPI_SUCCESS;
  return fail_host_call("delete", file.shared->path, error);
}

}  // namespace

// Errors of MPI_File_open and MPI_File_delete go to the handler of MPI_FILE_NULL.
int File_open(Comm comm, const char* filename, int amode, Info info, File* fh) {
  const int error = open_file(comm, filename, amode, info, fh);
  return error == MPI_SUCCESS ? error : raise_file_error(nullptr, error, "MPI_File_open");
}

int File_delete(const char* filename, Info info) {
  const int error = delete_file(filename, info);
  return error == MPI_SUCCESS ? error : raise_file_error(nullptr, error, "MPI_File_delete");
}

int File_close(File* fh) {
  MPI_TRY(check_out(fh, "fh"));
  FileObject* file;
  MPI_TRY(check_file(*fh, &file));
  if (file->pending > 0) {
    return fail(MPI_ERR_FILE, "a non-blocking or split call on the file is in progress");
  }
  begin_file_record(*file);
  MPI_TRY(enter_collective(*file));
  const int error = run_collective(*file->comm, [file](Transfer& transfer) {
    Strand& strand = self();
    yield_for_files(strand);
    charge_metadata(strand, file->path(), MetadataCall::kClose);
    MPI_TRY(collectives::barrier(transfer));
    return file->shared->delete_on_close ? remove_at_close(strand, *file) : MPI_SUCCESS;
  });
  yield_for_files(self());
  if (file->comm->rank == 0) shared_files(this_rank().world).close(*file->shared);
  release(file_tables(this_rank()).files.remove(file_number(*fh)));
  *fh = nullptr;
  return error;
}

}  // namespace sesame::mpi
