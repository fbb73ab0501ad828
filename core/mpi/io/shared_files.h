// SharedFiles: what the ranks share that have opened files with MPI: SharedFile objects by number,
// and locks. In a parallel simulation each worker has the same: a change is made in the turn of a
// worker (yield_for_files()), which tells the others. Frames carry numbers and addresses of file
// systems, which are the same in all workers.
//
// Use: shared_files() of the World makes the only one at the first use. Call the functions that
// change something after yield_for_files(). take() makes the changes of another worker. Nothing
// here fails. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/base/bytes.h"
#include "core/mpi/io/file.h"
#include "core/mpi/io/range_locks.h"

namespace sesame::mpi {

struct DirectedShare;
struct World;

class SharedFiles final : public LockListener {
 public:
  explicit SharedFiles(World& world) : world_(world) {}

  // Gives the file a number, by which all ranks find it until close().
  std::shared_ptr<SharedFile> open(SharedFile file);
  std::shared_ptr<SharedFile> find(uint64_t number) const;
  void close(const SharedFile& file);

  void set_stored_in(SharedFile& file, int rank, const std::string& host_path);
  // Adds to the shared pointer; returns what it was.
  int64_t advance_pointer(SharedFile& file, int64_t items);
  // The locks of this file; made at the first call.
  RangeLocks& locks(const storage::FileSystem* system, storage::FileId file);
  // A rank takes part in a disk-directed call; see DirectedShare in strategies.h.
  void tell_directed(const SharedFile& file, const DirectedShare& share);

  void take(std::span<const char> frame);

 private:
  void locked(const RangeLocks& locks, storage::Extent range) override;
  void unlocked(const RangeLocks& locks, storage::Extent range, const SimTime& time) override;

  enum class Change : uint8_t {
    kOpen,
    kClose,
    kStoredIn,
    kPointer,
    kLock,
    kUnlock,
    kDirected,
  };
  bool has_listeners() const;
  void tell(const ByteWriter& frame) const;
  void take_open(ByteReader& frame);
  RangeLocks& take_locks(ByteReader& frame);
  void take_directed(SharedFile& file, ByteReader& frame);

  World& world_;
  std::map<uint64_t, std::shared_ptr<SharedFile>> files_;
  uint64_t last_number_ = 0;
  // By file, because one file can be open several times.
  std::map<std::pair<const storage::FileSystem*, storage::FileId>, RangeLocks> locks_;
};

SharedFiles& shared_files(World& world);
// The range locks of this file, shared by all its handles.
RangeLocks& locks_of(const FileObject& file);

}  // namespace sesame::mpi
