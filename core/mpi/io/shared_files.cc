#include "core/mpi/io/shared_files.h"

#include <tuple>

#include "core/base/check.h"
#include "core/mpi/io/strategies/strategies.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi {

SharedFiles& shared_files(World& world) {
  if (world.shared_files == nullptr) world.shared_files = std::make_shared<SharedFiles>(world);
  return *world.shared_files;
}

RangeLocks& locks_of(const FileObject& file) {
  return shared_files(this_rank().world).locks(file.path().system, file.path().file);
}

bool SharedFiles::has_listeners() const { return world_.remote != nullptr; }

void SharedFiles::tell(const ByteWriter& frame) const {
  CHECK(world_.executive.has_turn());
  world_.remote->tell_files(frame.bytes());
}

std::shared_ptr<SharedFile> SharedFiles::open(SharedFile file) {
  file.number = ++last_number_;
  if (has_listeners()) {
    tell(ByteWriter()
             .put(Change::kOpen)
             .put_text(file.name)
             .put_text(file.path)
             .put(file.stored_in.size())
             .put_text(file.stored_in[0])
             .put(file.delete_on_close));
  }
  auto shared = std::make_shared<SharedFile>(std::move(file));
  files_.emplace(shared->number, shared);
  return shared;
}

// Files are opened in the same order in all workers.
void SharedFiles::take_open(ByteReader& frame) {
  auto file = std::make_shared<SharedFile>();
  file->number = ++last_number_;
  file->name = frame.take_text();
  file->path = frame.take_text();
  file->stored_in.resize(frame.take<size_t>());
  file->stored_in[0] = frame.take_text();
  file->delete_on_close = frame.take<bool>();
  file->collective = world_.collective_io;
  files_.emplace(file->number, std::move(file));
}

std::shared_ptr<SharedFile> SharedFiles::find(uint64_t number) const { return files_.at(number); }

void SharedFiles::close(const SharedFile& file) {
  if (has_listeners()) tell(ByteWriter().put(Change::kClose).put(file.number));
  files_.erase(file.number);
}

void SharedFiles::set_stored_in(SharedFile& file, int rank, const std::string& host_path) {
  if (has_listeners())
    tell(ByteWriter().put(Change::kStoredIn).put(file.number).put(rank).put_text(host_path));
  file.stored_in[static_cast<size_t>(rank)] = host_path;
}

int64_t SharedFiles::advance_pointer(SharedFile& file, int64_t items) {
  if (has_listeners()) tell(ByteWriter().put(Change::kPointer).put(file.number).put(items));
  return std::exchange(file.shared_position, file.shared_position + items);
}

RangeLocks& SharedFiles::locks(const storage::FileSystem* system, storage::FileId file) {
  return locks_
      .try_emplace({system, file}, RangeLocks::Owner{this, &world_.executive, system, file})
      .first->second;
}

void SharedFiles::locked(const RangeLocks& locks, storage::Extent range) {
  if (!has_listeners()) return;
  const RangeLocks::Owner& owner = locks.owner();
  tell(ByteWriter().put(Change::kLock).put(owner.system).put(owner.file).put(range));
}

void SharedFiles::unlocked(const RangeLocks& locks, storage::Extent range, const SimTime& time) {
  if (!has_listeners()) return;
  const RangeLocks::Owner& owner = locks.owner();
  tell(ByteWriter()
           .put(Change::kUnlock)
           .put(owner.system)
           .put(owner.file)
           .put(range)
           .put(time.ps()));
}

RangeLocks& SharedFiles::take_locks(ByteReader& frame) {
  const auto* system = frame.take<const storage::FileSystem*>();
  return locks(system, frame.take<storage::FileId>());
}

void SharedFiles::tell_directed(const SharedFile& file, const DirectedShare& share) {
  if (!has_listeners()) return;
  const storage::Client& client = share.access.client;
  tell(ByteWriter()
           .put(Change::kDirected)
           .put(file.number)
           .put(share.tag)
           .put(share.ranks)
           .put(share.time.ps())
           .put(share.system)
           .put(share.access.direction)
           .put(share.access.file)
           .put(client.rank)
           .put(client.node)
           .put(world_.ranks[static_cast<size_t>(client.rank)]->interface.free().ps())
           .put_list(share.access.extents));
}

void SharedFiles::take_directed(SharedFile& file, ByteReader& frame) {
  DirectedShare share;
  share.tag = frame.take<int>();
  share.ranks = frame.take<int>();
  share.time = SimTime::from_ps(frame.take<int64_t>());
  share.system = frame.take<storage::FileSystem*>();
  share.access.direction = frame.take<storage::Direction>();
  share.access.file = frame.take<storage::FileId>();
  storage::Client& client = share.access.client;
  client.rank = frame.take<int>();
  client.node = frame.take<int>();
  client.interface_free = &world_.ranks[static_cast<size_t>(client.rank)]->interface.free();
  *client.interface_free = SimTime::from_ps(frame.take<int64_t>());
  share.kept_extents = frame.take_list<storage::Extent>();
  share.access.extents = share.kept_extents;
  join_directed(file, std::move(share));
}

void SharedFiles::take(std::span<const char> bytes) {
  ByteReader frame(bytes);
  world_.executive.end_turn();
  const auto change = frame.take<Change>();
  const auto file = [&]() -> SharedFile& { return *files_.at(frame.take<uint64_t>()); };
  switch (change) {
    case Change::kOpen:
      return take_open(frame);
    case Change::kClose:
      files_.erase(frame.take<uint64_t>());
      return;
    case Change::kStoredIn: {
      SharedFile& of = file();
      const auto rank = static_cast<size_t>(frame.take<int>());
      of.stored_in[rank] = frame.take_text();
      return;
    }
    case Change::kPointer: {
      SharedFile& of = file();
      of.shared_position += frame.take<int64_t>();
      return;
    }
    case Change::kLock: {
      RangeLocks& of = take_locks(frame);
      of.request(nullptr, frame.take<storage::Extent>());
      return;
    }
    case Change::kUnlock: {
      RangeLocks& of = take_locks(frame);
      const auto range = frame.take<storage::Extent>();
      return of.release(range, SimTime::from_ps(frame.take<int64_t>()));
    }
    case Change::kDirected: {
      SharedFile& of = file();
      return take_directed(of, frame);
    }
  }
}

}  // namespace sesame::mpi
