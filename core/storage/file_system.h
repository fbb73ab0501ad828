// FileSystem: the model of one simulated file system. It models the time of accesses and the space
// that files use; it does not have their bytes (open_file.h). make_file_system() makes one.
//
// Make each call at simulated time `now`, after all earlier events, on the simulation's thread.
// Requests take simulated time: their completion is called once, at their end. Completions are not
// owned and must live until then.
//
// Sizes and offsets are bytes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/machine/storage.h"
#include "core/storage/access.h"
#include "core/storage/device.h"

namespace sesame::storage {

struct FileStatistics {
  std::string name;
  uint64_t opens = 0;
  uint64_t read_seeks =
      0;  // elements of I/O lists that do not start where the rank's previous one ended
  uint64_t write_seeks = 0;
  uint64_t reads = 0;  // elements of I/O lists that are not empty
  uint64_t writes = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  SimTime read_time;  // sum over accesses, from request to completion
  SimTime write_time;
  SimTime metadata_time;
};

struct CacheStatistics {
  uint64_t read_hits = 0;  // these and all that follow count blocks
  uint64_t read_misses = 0;
  uint64_t write_hits = 0;
  uint64_t write_misses = 0;
  uint64_t evictions = 0;
  uint64_t written_back = 0;
  uint64_t invalidations = 0;
  uint64_t forwarded = 0;   // cooperative policies: obtained from another compute node
  uint64_t read_ahead = 0;  // read before a request needed them
};

struct IonodeStatistics {
  uint64_t requests = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  SimTime busy;  // of the I/O node's CPU
  uint64_t longest_queue = 0;
  CacheStatistics cache;
  DeviceStatistics device;
  // Busy time of the device in equal slices of simulated time. There are at most 256: their length
  // doubles as the run gets longer.
  SimTime slice;
  std::vector<SimTime> busy_by_slice;
};

struct Statistics {
  std::vector<FileStatistics> files;
  std::vector<IonodeStatistics> ionodes;
  std::vector<CacheStatistics> cnode_caches;  // by node; empty without such caches
  uint64_t refused = 0;                       // how often a file could not grow for lack of space
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Returns the number of the file of that name; makes it at the first call.
  virtual FileId find_file(const std::string& name) = 0;
  // The name no longer refers to its file, which still exists by another name or because it is
  // open. The next find_file() of the name makes a new file.
  virtual void release_name(const std::string& name) = 0;

  // One access of a rank: reads or writes its extents one after the other.
  virtual void access(SimTime now, const Access& access, Completion& completion) = 0;
  // Disk-directed I/O: the accesses of all ranks of one collective call, all in the same direction.
  // Each I/O node serves them in the order of its device and moves the data directly to or from the
  // ranks.
  virtual void access_directed(SimTime now, std::span<const Access> accesses,
                               Completion& completion) = 0;
  // One request to the metadata server.
  virtual void metadata(SimTime now, MetadataCall call, FileId file, const Client& client,
                        Completion& completion) = 0;
  // Completes when everything written so far to the file is on its devices (MPI_File_sync, fsync).
  virtual void flush(SimTime now, FileId file, const Client& client, Completion& completion) = 0;

  // Sets the file's size and allocates or frees space. Returns false, and changes nothing, if the
  // file system is full. Takes no time, as the next three calls.
  virtual bool resize(FileId file, uint64_t bytes) = 0;
  // Frees the file's space and drops its cached blocks.
  virtual void remove(FileId file) = 0;
  // The file's bytes up to its size were written before the run and are on the devices.
  virtual void mark_existing_contents(FileId file) = 0;
  // Drops clean blocks that lie wholly between `begin` and `end` from the node's cache
  // (POSIX_FADV_DONTNEED).
  virtual void drop(FileId file, int node, uint64_t begin, uint64_t end) = 0;

  virtual Statistics statistics() const = 0;

  // Sets the striping of a file that has never had data; later calls have no effect. Invalid fields
  // (a unit that is not a multiple of the block, an I/O node that does not exist) keep the default.
  virtual void set_striping(FileId file, const Striping& striping) = 0;
  // Empty for a node-local file system.
  virtual std::optional<Striping> striping(FileId file) const = 0;
};

}  // namespace sesame::storage
