#include "core/posix/files.h"

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/mpi/calls/call.h"
#include "core/mpi/io/file_time.h"
#include "core/mpi/messages/messaging.h"
#include "core/mpi/messages/recorder.h"

namespace sesame::posix {
namespace {

using loader::FileCall;
using loader::FilePath;
using loader::PathUse;
using storage::FileId;
using storage::FileSystem;

// A file's descriptors, and whether its last name is gone: then its room is given back with the
// last of them.
struct Uses {
  int descriptors = 0;
  bool is_removed = false;
};

// A rank's call, for its record.
struct Call {
  const char* name = nullptr;
  std::string file;
  SimTime begin;
  uint64_t bytes = 0;
  bool is_asynchronous = false;
};

mpi::World* g_world = nullptr;
std::deque<Call> g_calls;  // by rank; a spawn adds some while others are in use
std::map<std::pair<FileSystem*, FileId>, Uses> g_uses;

storage::Mounts& mounts() { return *g_world->mounts; }
FileSystem& system_of(const FilePath& file) { return *static_cast<FileSystem*>(file.system); }
FileId id_of(const FilePath& file) { return static_cast<FileId>(file.file); }
Uses& uses_of(const FilePath& file) { return g_uses[{&system_of(file), id_of(file)}]; }

int node_of(const mpi::Rank& rank) { return g_world->network.node_of(rank.id); }

storage::Use to_use(PathUse use) {
  switch (use) {
    case PathUse::kLook:
      return storage::Use::kLook;
    case PathUse::kChange:
      return storage::Use::kChange;
    case PathUse::kName:
      return storage::Use::kName;
    case PathUse::kReplace:
      break;
  }
  return storage::Use::kReplace;
}

storage::MetadataCall to_metadata(FileCall call) {
  switch (call) {
    case FileCall::kOpen:
      return storage::MetadataCall::kOpen;
    case FileCall::kCreate:
      return storage::MetadataCall::kCreate;
    case FileCall::kClose:
      return storage::MetadataCall::kClose;
    case FileCall::kStat:
      return storage::MetadataCall::kStat;
    case FileCall::kRemove:
      break;
  }
  return storage::MetadataCall::kRemove;
}

FilePath to_path(storage::Place place, int node) {
  FilePath path;
  path.system = place.system;
  path.file = static_cast<uint32_t>(place.file);
  path.node = node;
  path.path = std::move(place.path);
  path.backing = std::move(place.backing);
  path.name = std::move(place.name);
  path.is_original = place.is_original;
  path.block = place.block;
  path.error = place.error;
  return path;
}

storage::Place to_place(const FilePath& path) {
  storage::Place place;
  place.system = &system_of(path);
  place.file = id_of(path);
  place.path = path.path;
  place.backing = path.backing;
  place.name = path.name;
  place.is_original = path.is_original;
  return place;
}

FilePath locate(const std::string& path, PathUse use) {
  const int node = node_of(mpi::this_rank());
  return to_path(mounts().locate(path, node, to_use(use)), node);
}

FilePath resolve(const std::string& path, bool follows_last) {
  const int node = node_of(mpi::this_rank());
  return to_path(mounts().resolve(path, node, follows_last), node);
}

Call& call_of(const mpi::Strand& strand) { return g_calls[static_cast<size_t>(strand.rank->id)]; }

void begin(const char* name) {
  mpi::Strand& strand = mpi::self();
  if (strand.call_depth == 0) mpi::charge_compute(strand, mpi::ComputeEnd::kClock);
  strand.idle_polls = 0;
  call_of(strand) = {name, {}, strand.now, 0, false};
  mpi::yield_until_now(strand);
}

void record(const mpi::Strand& strand, const loader::FileCallNote& note) {
  const Call& call = call_of(strand);
  mpi::IoRecord record{strand.rank->id, call.name, call.file, call.begin, strand.now};
  record.offset = note.offset;
  record.size = note.size;
  record.bytes = call.bytes;
  record.error = static_cast<uint16_t>(note.error);
  record.asynchronous = call.is_asynchronous;
  g_world->recorder->record(record);
}

// Calls that failed before a file was known have no record.
void end(const loader::FileCallNote& note) {
  mpi::Strand& strand = mpi::self();
  if (g_world->recorder != nullptr && !call_of(strand).file.empty()) {
    record(strand, note);
    if (g_world->recorder->is_full(strand.rank->id)) {
      mpi::yield_until_now(strand);
      g_world->recorder->write_until(strand.rank->id, strand.now);
    }
  }
  if (strand.call_depth == 0) mpi::resume_compute(strand);
}

void metadata(const FilePath& file, FileCall call) {
  mpi::Strand& strand = mpi::self();
  call_of(strand).file = file.name;
  mpi::FileWait wait(strand);
  system_of(file).metadata(strand.now, to_metadata(call), id_of(file), mpi::client_of(strand),
                           wait);
  wait.wait();
}

storage::Access access_to(const FilePath& file, bool is_write, const storage::Extent& extent) {
  storage::Access access;
  access.direction = is_write ? storage::Direction::kWrite : storage::Direction::kRead;
  access.file = id_of(file);
  access.client = mpi::client_of(mpi::self());
  access.extents = {&extent, 1};
  return access;
}

void moved(const FilePath& file, bool is_write, uint64_t offset, uint64_t bytes) {
  mpi::Strand& strand = mpi::self();
  call_of(strand).file = file.name;
  call_of(strand).bytes += bytes;
  const storage::Extent extent{offset, bytes};
  mpi::FileWait wait(strand);
  system_of(file).access(strand.now, access_to(file, is_write, extent), wait);
  wait.wait();
}

void flush(const FilePath& file) {
  mpi::Strand& strand = mpi::self();
  call_of(strand).file = file.name;
  mpi::FileWait wait(strand);
  system_of(file).flush(strand.now, id_of(file), mpi::client_of(strand), wait);
  wait.wait();
}

// Data under way by itself.
struct Started {
  explicit Started(mpi::Strand& strand) : wait(strand) {}
  mpi::FileWait wait;
  storage::Extent extent;
};

void* start(const FilePath& file, bool is_write, uint64_t offset, uint64_t bytes) {
  mpi::Strand& strand = mpi::self();
  Call& call = call_of(strand);
  call.file = file.name;
  call.bytes = bytes;
  call.is_asynchronous = true;
  auto* started = new Started(strand);
  started->extent = {offset, bytes};
  system_of(file).access(strand.now, access_to(file, is_write, started->extent), started->wait);
  return started;
}

bool has_ended(void* ticket) {
  mpi::Strand& strand = mpi::self();
  mpi::yield_until_now(strand);
  const mpi::FileWait& wait = static_cast<Started*>(ticket)->wait;
  if (wait.is_done() && wait.at() <= strand.now) return true;
  mpi::charge_idle_poll(strand);
  return false;
}

void await(void* ticket) {
  auto* started = static_cast<Started*>(ticket);
  started->wait.wait();
  delete started;
}

void drop(const FilePath& file, uint64_t offset, uint64_t bytes) {
  const uint64_t end = bytes == 0 ? UINT64_MAX : offset + bytes;
  system_of(file).drop(id_of(file), file.node, offset, end);
}

bool resize(const FilePath& file, uint64_t bytes) {
  return system_of(file).resize(id_of(file), bytes);
}

void failed(const FilePath& file, int error) { mounts().note_failure(file.path, error); }

void opened(const FilePath& file) { ++uses_of(file).descriptors; }

void give_back_if_unused(const FilePath& file) {
  const Uses uses = uses_of(file);
  if (uses.descriptors > 0) return;
  g_uses.erase({&system_of(file), id_of(file)});
  if (uses.is_removed) system_of(file).remove(id_of(file));
}

void closed(const FilePath& file) {
  --uses_of(file).descriptors;
  give_back_if_unused(file);
}

std::vector<std::string> list(const FilePath& directory) {
  return mounts().list(to_place(directory), directory.node);
}

int copy_all(const FilePath& directory) {
  return mounts().copy_all(directory.name, directory.node);
}

void removed(const FilePath& name) {
  if (!mounts().removed(to_place(name), name.node)) return;
  uses_of(name).is_removed = true;
  give_back_if_unused(name);
}

void renamed(const FilePath& from, const FilePath& to) {
  mounts().renamed(to_place(from), to_place(to), from.node);
}

void linked(const FilePath& file, const FilePath& name) {
  mounts().linked(to_place(file), to_place(name), file.node);
}

}  // namespace

const loader::FileHooks& file_hooks(mpi::World& world) {
  static loader::FileHooks hooks{
      .locate = locate,
      .resolve = resolve,
      .begin = begin,
      .end = end,
      .metadata = metadata,
      .moved = moved,
      .flush = flush,
      .start = start,
      .has_ended = has_ended,
      .await = await,
      .resize = resize,
      .opened = opened,
      .closed = closed,
      .list = list,
      .copy_all = copy_all,
      .removed = removed,
      .renamed = renamed,
      .linked = linked,
      .discards_data = world.mounts->discards_data(),
      .failed = failed,
      .drop = drop,
  };
  g_world = &world;
  g_calls.resize(world.ranks.size());
  return hooks;
}

}  // namespace sesame::posix
