// MPI_File_open, _close and _delete (MPI 4.1, 14.2).
#include <fcntl.h>

#include <bit>
#include <cstring>
#include <filesystem>

#include "core/mpi/api.h"
#include "core/mpi/collectives/barrier.h"
#include "core/mpi/communicators/agree.h"
#include "core/mpi/communicators/comm_create.h"
#include "core/mpi/io/file_call.h"
#include "core/mpi/io/file_errors.h"
#include "core/mpi/io/file_note.h"
#include "core/mpi/io/file_tables.h"
#include "core/mpi/io/file_time.h"
#include "core/mpi/io/hints.h"
#include "core/mpi/io/representation.h"
#include "core/mpi/io/seek.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/objects/errhandler.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/group.h"
#include "core/mpi/objects/info.h"

namespace sesame::mpi {
namespace {

using storage::MetadataCall;

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

// Names may say which driver is meant, as in "ufs:name"; ours is one for all.
std::string_view without_driver(std::string_view name) {
  for (const char* driver : {"ufs:", "nfs:", "xfs:", "gpfs:", "panfs:", "lustre:", "pvfs2:",
                             "quobytefs:", "ime:", "daos:", "testfs:"}) {
    if (name.starts_with(driver)) return name.substr(std::string_view(driver).size());
  }
  return name;
}

std::string path_of(const char* name) {
  return std::filesystem::absolute(without_driver(name)).lexically_normal().string();
}

// A file of the host has its own path and no model.
storage::Place locate(const Rank& rank, const std::string& path) {
  storage::Mounts* mounts = rank.world.mounts.get();
  if (mounts != nullptr) {
    if (auto place = mounts->find(path, rank.world.network.node_of(rank.id))) return *place;
  }
  note_host_file(rank.world, path);
  return {nullptr, {}, path};
}

// Errors of what a call names before there is a file.
int check_name(const char* name) {
  if (name == nullptr) return fail(MPI_ERR_ARG, "the file name is a null pointer");
  if (*name == '\0') return fail(MPI_ERR_BAD_FILE, "the file name is empty");
  return MPI_SUCCESS;
}

[[gnu::cold]] int open_failure(int error, const std::string& name) {
  return fail(file_error_class(error),
              "cannot open " + name + ": " + std::string(strerrordesc_np(error)));
}

// One rank's opening: takes the model's time and gives the real file.
int open_one(const storage::Place& place, const std::string& name, int amode, bool creates,
             std::shared_ptr<RealFile>* real) {
  Strand& strand = self();
  yield_until_now(strand);
  OpenFlags flags;
  flags.writes = (amode & MPI_MODE_RDONLY) == 0;
  flags.create = creates && (amode & MPI_MODE_CREATE) != 0;
  flags.exclusive = flags.create && (amode & MPI_MODE_EXCL) != 0;
  const bool is_new = flags.create && !real_file_exists(place.path);
  const int error = open_real_file(place.path, flags, real);
  spend_metadata(strand, place, is_new ? MetadataCall::kCreate : MetadataCall::kOpen);
  return error == 0 ? MPI_SUCCESS : open_failure(error, name);
}

// The arguments of one rank's call, and what becomes of it.
struct Opening {
  const char* name;
  int amode;
  InfoObject* hints;
  std::shared_ptr<SharedFile> shared;
  std::shared_ptr<RealFile> real;
};

// The greatest error class that any rank has met.
int worst_of_all(Circle& circle, int error) {
  int worst[1] = {error};
  circle.maximum(worst);
  if (error != MPI_SUCCESS) return error;
  if (worst[0] == MPI_SUCCESS) return MPI_SUCCESS;
  return fail(worst[0], "another rank could not open the file");
}

int agree_on_amode(Circle& circle, const Opening& opening, int error) {
  int values[3] = {error, opening.amode, ~opening.amode};
  circle.maximum(values);
  if (error != MPI_SUCCESS) return error;
  if (values[0] != MPI_SUCCESS) return fail(values[0], "another rank's arguments are wrong");
  if (values[1] == ~values[2]) return MPI_SUCCESS;
  return fail(MPI_ERR_NOT_SAME, "not all ranks give the same access mode");
}

std::shared_ptr<SharedFile> new_shared(const Opening& opening, int ranks) {
  const World& world = this_rank().world;
  auto shared = std::make_shared<SharedFile>();
  shared->name = opening.name;
  shared->places.resize(static_cast<size_t>(ranks));
  shared->collective = world.collective_io;
  shared->delete_on_close = (opening.amode & MPI_MODE_DELETE_ON_CLOSE) != 0;
  shared->discards_data = world.mounts != nullptr && world.mounts->discards_data();
  return shared;
}

int open_first(const Opening& opening, const storage::Place& place,
               std::shared_ptr<RealFile>* real) {
  MPI_TRY(open_one(place, opening.name, opening.amode, true, real));
  const bool may_be_new = (opening.amode & MPI_MODE_CREATE) != 0 && place.system != nullptr;
  if (may_be_new && opening.hints != nullptr) {
    place.system->set_striping(place.file, striping_wanted(*opening.hints));
  }
  return MPI_SUCCESS;
}

// The first rank makes the file, then the others open it. What they share goes to them as a
// pointer: eight bytes of a message, as an MPI library passes on what it found out.
int open_together(Circle& circle, Opening& opening) {
  const Rank& rank = this_rank();
  const std::string path = path_of(opening.name);
  yield_until_now(self());  // files are numbered in order of time
  const storage::Place place = locate(rank, path);
  std::vector<int> words(3);
  if (circle.me() == 0) {
    opening.shared = new_shared(opening, circle.size());
    opening.shared->path = path;
    opening.shared->discards_data &= place.system != nullptr;
    words[0] = open_first(opening, place, &opening.real);
    const auto address = reinterpret_cast<uintptr_t>(opening.shared.get());
    words[1] = static_cast<int>(address >> 32);
    words[2] = static_cast<int>(address & 0xffffffff);
    opening.shared->places[0] = place;
  }
  circle.broadcast(words, 0);
  if (words[0] != MPI_SUCCESS) {
    return circle.me() == 0 ? words[0] : fail(words[0], "the first rank cannot open the file");
  }
  int error = MPI_SUCCESS;
  if (circle.me() != 0) {
    const auto address = static_cast<uintptr_t>(static_cast<uint32_t>(words[1])) << 32 |
                         static_cast<uint32_t>(words[2]);
    opening.shared = reinterpret_cast<SharedFile*>(address)->shared_from_this();
    // On a node of its own the file may have to be made again.
    const bool creates = place.path != opening.shared->places[0].path;
    opening.shared->places[static_cast<size_t>(circle.me())] = place;
    int amode = opening.amode;
    if (creates) amode &= ~MPI_MODE_EXCL;
    error = open_one(place, opening.name, amode, creates, &opening.real);
  }
  return worst_of_all(circle, error);
}

// The file's own communicator is no handle of the program's.
CommObject* file_comm(const CommObject& parent, uint32_t context, const std::string& name) {
  auto* comm = new CommObject;
  comm->rank = parent.rank;
  comm->local = comm->remote = parent.local;
  comm->context = context;
  comm->name = "the file " + name;
  return comm;
}

FileObject* make_object(Opening& opening, const CommObject& parent, uint32_t context) {
  Rank& rank = this_rank();
  auto* file = new FileObject;
  file->comm = file_comm(parent, context, opening.shared->name);
  file->shared = std::move(opening.shared);
  file->real = std::move(opening.real);
  file->amode = opening.amode;
  file->opening = file_tables(rank).openings++;
  file->collective = file->shared->collective;
  const DatatypeRef byte(rank.datatypes.find(MPI_BYTE));
  file->view = {0, byte, byte, &native_representation(), byte, byte};
  file->errhandler = file_tables(rank).errhandler;
  retain(file->errhandler);
  file->info = new InfoObject;
  take_file_hints(*file, opening.hints);
  file->handle = file_handle(file_tables(rank).files.add(file));
  return file;
}

void note_opening(const Opening& opening) {
  FileNote* note = note_path(path_of(opening.name));
  if (note == nullptr) return;
  const int access = (opening.amode & MPI_MODE_RDWR) != 0     ? O_RDWR
                     : (opening.amode & MPI_MODE_WRONLY) != 0 ? O_WRONLY
                                                              : O_RDONLY;
  note->size =
      static_cast<uint64_t>(access | ((opening.amode & MPI_MODE_CREATE) != 0 ? O_CREAT : 0) |
                            ((opening.amode & MPI_MODE_EXCL) != 0 ? O_EXCL : 0));
  note->collective = true;
}

int open_file(Comm comm, const char* filename, int amode, Info info, File* fh) {
  CommObject* parent;
  MPI_TRY(check_comm(comm, &parent));
  if (parent->is_inter) return fail(MPI_ERR_COMM, "the communicator is an inter-communicator");
  MPI_TRY(check_out(fh, "fh"));
  *fh = nullptr;
  Opening opening{filename, amode, nullptr, nullptr, nullptr};
  int error = check_name(filename);
  if (error == MPI_SUCCESS) error = check_amode(amode);
  if (error == MPI_SUCCESS) error = check_info(info, &opening.hints);
  if (error == MPI_SUCCESS) note_opening(opening);
  return run_collective(*parent, [&](Transfer& transfer) {
    Circle circle(transfer);
    MPI_TRY(agree_on_amode(circle, opening, error));
    MPI_TRY(open_together(circle, opening));
    const uint32_t context = agree_with_all(this_rank(), transfer, kIntraContexts);
    FileObject* file = make_object(opening, *parent, context);
    if ((amode & MPI_MODE_APPEND) != 0) {
      uint64_t bytes = 0;
      MPI_TRY(file_bytes(*file, &bytes));
      file->position = static_cast<int64_t>(bytes);
      file->shared->shared_position = static_cast<int64_t>(bytes);
    }
    *fh = file->handle;
    if (FileNote* note = current_note()) note->opening = file->opening;
    return MPI_SUCCESS;
  });
}

// The file at this place is gone; on the mount of the working directory a real one is hidden.
void forget(const Rank& rank, const storage::Place& place) {
  if (place.system == nullptr) return;
  const int node = rank.world.network.node_of(rank.id);
  if (rank.world.mounts->removed(place, node)) place.system->remove(place.file);
}

int delete_file(const char* filename, Info info) {
  MPI_TRY(check_name(filename));
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  Strand& strand = self();
  const std::string path = path_of(filename);
  note_path(path);
  yield_until_now(strand);
  const storage::Place place = locate(*strand.rank, path);
  spend_metadata(strand, place, MetadataCall::kRemove);
  if (const int error = remove_real_file(place.path); error != 0) {
    return fail(file_error_class(error),
                std::string("cannot delete ") + filename + ": " + strerrordesc_np(error));
  }
  forget(*strand.rank, place);
  return MPI_SUCCESS;
}

// The first rank with this place removes the file; all have closed it.
int remove_at_close(Strand& strand, const FileObject& file) {
  const storage::Place& mine = file.place();
  for (int other = 0; other < file.comm->rank; ++other) {
    if (file.shared->places[static_cast<size_t>(other)].path == mine.path) return MPI_SUCCESS;
  }
  spend_metadata(strand, mine, MetadataCall::kRemove);
  remove_real_file(mine.path);
  forget(*strand.rank, mine);
  return MPI_SUCCESS;
}

}  // namespace

// Its errors, and those of MPI_File_delete, go to the handler of MPI_FILE_NULL.
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
    return fail(MPI_ERR_FILE, "a non-blocking or split call on the file is under way");
  }
  note_file(*file);
  MPI_TRY(enter_collective(*file));
  const int error = run_collective(*file->comm, [file](Transfer& transfer) {
    Strand& strand = self();
    spend_metadata(strand, file->place(), MetadataCall::kClose);
    MPI_TRY(collectives::barrier(transfer));
    return file->shared->delete_on_close ? remove_at_close(strand, *file) : MPI_SUCCESS;
  });
  release(file_tables(this_rank()).files.remove(file_number(*fh)));
  *fh = nullptr;
  return error;
}

}  // namespace sesame::mpi
