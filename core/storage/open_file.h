// OpenFile: one opening of a file in a simulated job, whoever made it: MPI_File_open, open or
// fopen. It keeps together where the file is (a ResolvedPath), its room on the simulated file
// system, its bytes in a file of the host, and the accesses whose time the file system models. A
// file on no simulated file system is used alike; it has neither room nor time.
//
// To write: reserve() the room, write the bytes to the host's descriptor, and call write_failed()
// if the host did not take all of them. The model's time is charged separately, by
// FileSystem::access() of access().
//
// An OpenFile owns no descriptor: the program may have duplicated or closed the one it was opened
// with, so each call is given one. PositionalFile owns its descriptor.
//
// Sizes and offsets are bytes. Functions return an errno value, 0 for success. The system calls are
// made directly: the C library's functions of these names may be the simulated ones. Called on the
// simulation's thread, when everything earlier in simulated time has happened.
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
  // The path was located; its host file has been opened. `mounts` is null in a job without
  // simulated file systems; it must outlive all calls but the destructor.
  OpenFile(Mounts* mounts, ResolvedPath path);
  // The last opening of a file whose names are gone gives its room back.
  virtual ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const ResolvedPath& path() const { return path_; }
  // Only the size is kept: nothing is written to the host's file, and zeros are read.
  bool discards_data() const;

  // Takes room for a write that ends at `end`: ENOSPC if the simulated file system is full. Where
  // data is discarded the host's file gets its new size here.
  int reserve(int descriptor, uint64_t end) const;
  // The host wrote a part at most, for the reason `error`: keeps room for what the file has now,
  // and notes if it is the host that is full or broken.
  void write_failed(int descriptor, int error) const;
  // Sets the size, of file and room or of neither.
  int resize(int descriptor, uint64_t bytes) const;
  // The host has truncated the file to nothing as it opened it.
  void truncated() const;

  // An access for FileSystem::access(). The extents must live until its completion.
  Access access(Direction direction, const Client& client, std::span<const Extent> extents) const;

 protected:
  void note_failure(int error) const;

 private:
  bool set_room(uint64_t bytes) const;

  Mounts* mounts_;
  ResolvedPath path_;
  std::weak_ptr<FileUses> uses_;
};

// The size of the host's file.
int size_of(int descriptor, uint64_t* bytes);

// How a PositionalFile is opened.
struct OpenMode {
  bool writes = false;  // otherwise it is only read
  bool create = false;
  bool exclusive = false;  // with create: it must not exist
};

// An OpenFile with a descriptor of its own, read and written at given offsets. All who have the
// same file open in the same mode share one: many ranks would run out of descriptors.
class PositionalFile : public OpenFile {
 public:
  // Opens the host's file, or shares the one that is open. Permissions are checked each time.
  static int open(Mounts* mounts, const ResolvedPath& path, OpenMode mode,
                  std::shared_ptr<PositionalFile>* file);
  // How many are open now.
  static size_t count();
  ~PositionalFile() override;

  int size(uint64_t* bytes) const { return size_of(descriptor_, bytes); }
  int resize(uint64_t bytes) const { return OpenFile::resize(descriptor_, bytes); }
  // Reads the extents one after the other into `data`, up to the first byte behind the end of the
  // file: *moved bytes.
  int read(std::span<const Extent> extents, std::byte* data, uint64_t* moved) const;
  // Writes all of `data` to the extents, one after the other. Takes the room first: with ENOSPC of
  // the simulated file system nothing has been written.
  int write(std::span<const Extent> extents, const std::byte* data) const;

 private:
  PositionalFile(Mounts* mounts, const ResolvedPath& path, int descriptor, bool writes);
  bool is_same_as(const PositionalFile& other) const;
  int read_at(uint64_t offset, uint64_t bytes, std::byte* data, uint64_t* done) const;
  int write_at(uint64_t offset, uint64_t bytes, const std::byte* data) const;

  int descriptor_;
  bool writes_;
};

// Whether the host has a file of that path.
bool host_file_exists(const std::string& host_path);
int remove_host_file(const std::string& host_path);

// Where the last of the extents ends; 0 if all are empty.
uint64_t end_of(std::span<const Extent> extents);

}  // namespace sesame::storage
