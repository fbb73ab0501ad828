// OpenFile: an open file of a simulated job, opened by MPI_File_open, open or fopen. It joins the
// file's path (ResolvedPath), its space on the simulated file system, its bytes in a file of the
// host, and the accesses whose time the file system models. A file that is on no simulated file
// system is used in the same way, but needs neither space nor time.
//
// To write: reserve() the space, write the bytes to the host's descriptor, and call write_failed()
// if the host did not write all of them. The simulated time is charged separately: give access() to
// FileSystem::access().
//
// An OpenFile does not own a descriptor, because the program may duplicate or close the one it was
// opened with; each call takes one. A PositionalFile owns its descriptor.
//
// Sizes and offsets are bytes. Functions return an errno value, 0 for success. They make system
// calls directly, since the C library's functions may be replaced by the simulated ones. Call them
// on the simulation's thread, after all events that are earlier in simulated time.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/storage/mounts.h"

namespace sesame::storage {

class OpenFile {
 public:
  // REQUIRES: the path was located and its host file opened. `mounts` is null in a job without
  // simulated file systems; it must outlive all calls except the destructor.
  OpenFile(Mounts* mounts, ResolvedPath path);
  // Frees the file's space if this was its last open and it has no name any more.
  virtual ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const ResolvedPath& path() const { return path_; }
  // Whether only the file's size is kept: nothing is written to the host's file, reads return
  // zeros.
  bool discards_data() const;

  // Reserves space for a write that ends at `end`. ENOSPC if the simulated file system is full;
  // nothing has changed then. If data is discarded, this also sets the size of the host's file.
  int reserve(int descriptor, uint64_t end) const;
  // The host wrote none or only some of the bytes, with errno `error`. Reduces the space to the
  // file's current size, and records the error if the host is full or has a device error.
  void write_failed(int descriptor, int error) const;
  // Sets the size of the host's file and its space, or changes neither.
  int resize(int descriptor, uint64_t bytes) const;
  // The host has truncated the file to size 0 while opening it.
  void truncated() const;

  // The request for FileSystem::access(). The extents must live until its completion.
  Access access(Direction direction, const Client& client, std::span<const Extent> extents) const;

 protected:
  void note_failure(int error) const;
  // What all opens of the file share; null when the file is on no simulated file system, or the
  // mounts were destroyed.
  FileUse* use() const;
  // The bytes are in this file of the backing store now.
  void set_copy(const std::string& copy);

 private:
  bool set_modelled_size(uint64_t bytes) const;

  Mounts* mounts_;
  ResolvedPath path_;
  std::weak_ptr<FileUses> uses_;
};

// The size of the host's file.
int size_of(int descriptor, uint64_t* bytes);

// How to open a PositionalFile.
struct OpenMode {
  bool writes = false;  // false: read-only
  bool create = false;
  bool exclusive = false;  // with create: fail with EEXIST if it exists
};

// PositionalFile: an OpenFile with its own descriptor, read and written at given offsets. All ranks
// that have the same file open in the same mode share one, because one descriptor for each rank
// could exceed the host's limit. One that reads an original reads the copy once there is one.
class PositionalFile : public OpenFile, OriginalReader {
 public:
  // Opens the host's file, or shares the PositionalFile that is open. Checks permissions each time.
  static int open(Mounts* mounts, const ResolvedPath& path, OpenMode mode,
                  std::shared_ptr<PositionalFile>* file);

  ~PositionalFile() override;

  int size(uint64_t* bytes) const { return size_of(descriptor_, bytes); }
  int resize(uint64_t bytes) const { return OpenFile::resize(descriptor_, bytes); }
  // Reads the extents, one after the other, into `data`. Stops at the end of the file; sets `moved`
  // to the bytes read.
  int read(std::span<const Extent> extents, std::byte* data, uint64_t* moved) const;
  // Writes `data` to the extents, one after the other. Reserves the space first: if the simulated
  // file system is full (ENOSPC), nothing is written. EBADF if the file is open read-only.
  int write(std::span<const Extent> extents, const std::byte* data) const;

 private:
  PositionalFile(Mounts* mounts, const ResolvedPath& path, int descriptor, bool writes);
  bool is_same_as(const PositionalFile& other) const;
  void follow_copy(const std::string& copy) override;
  int read_at(uint64_t offset, uint64_t bytes, std::byte* data, uint64_t* done) const;
  int write_at(uint64_t offset, uint64_t bytes, const std::byte* data) const;

  int descriptor_;
  bool writes_;
  int copy_error_ = 0;  // errno of opening the copy of its original: it cannot be read any more
};

// The host file that has the bytes of a path, or will have them once an original is copied. Two
// paths with the same one are the same file.
const std::string& stored_in(const ResolvedPath& path);

// Whether the host has a file at that path.
bool host_file_exists(const std::string& host_path);
// Removes the name of a file; a directory is EISDIR. An original is only hidden from the program:
// the user's file on the host stays. REQUIRES: the path was located with PathIntent::kUnlink.
// `mounts` is null in a job without simulated file systems.
int remove_file(Mounts* mounts, const ResolvedPath& path);

// Drops clean blocks that lie wholly between `begin` and `end` from the node's cache
// (POSIX_FADV_DONTNEED).
void drop_cached(const ResolvedPath& path, uint64_t begin, uint64_t end);

// The greatest end of the extents that are not empty; 0 if all are.
uint64_t end_of(std::span<const Extent> extents);

}  // namespace sesame::storage
