// FileSystem: the model of one simulated file system. It says how long accesses take and how much
// room files have; it has none of their bytes (open_file.h). Made by make_file_system().
//
// Each call is made at simulated time `now`, when everything earlier has happened, on the
// simulation's thread. Requests take time: their completion is told once, when simulated time has
// come to their end. Sizes and offsets are bytes.
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
  uint64_t read_seeks = 0;  // elements of I/O lists that do not begin where the one before ended
  uint64_t write_seeks = 0;
  uint64_t reads = 0;  // elements of I/O lists
  uint64_t writes = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  SimTime read_time;  // sum over accesses
  SimTime write_time;
  SimTime metadata_time;
};

struct CacheStatistics {
  uint64_t read_hits = 0;  // blocks
  uint64_t read_misses = 0;
  uint64_t write_hits = 0;
  uint64_t write_misses = 0;
  uint64_t evictions = 0;
  uint64_t written_back = 0;
  uint64_t invalidations = 0;
  uint64_t forwarded = 0;   // cooperative policies: had from another compute node
  uint64_t read_ahead = 0;  // blocks read before they were asked for
};

struct IonodeStatistics {
  uint64_t requests = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  SimTime busy;  // CPU
  uint64_t longest_queue = 0;
  CacheStatistics cache;
  DeviceStatistics device;
  // Busy time of the device by equal slices of simulated time; slices double in length as the run
  // gets longer, so that there are at most 256.
  SimTime slice;
  std::vector<SimTime> busy_by_slice;
};

struct Statistics {
  std::vector<FileStatistics> files;
  std::vector<IonodeStatistics> ionodes;
  std::vector<CacheStatistics> cnode_caches;  // by node; empty without such caches
  uint64_t refused = 0;                       // times that there was no room for a file to grow
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // The file of that name, as the model knows it; made on first sight.
  virtual FileId find_file(const std::string& name) = 0;

  virtual void access(SimTime now, const Access& access, Completion& completion) = 0;
  // Disk-directed I/O: what all ranks of a collective call ask for, together; each I/O node serves
  // it in the order of its devices and moves data straight to and from the ranks.
  virtual void access_directed(SimTime now, std::span<const Access> accesses,
                               Completion& completion) = 0;
  virtual void metadata(SimTime now, MetadataCall call, FileId file, const Client& client,
                        Completion& completion) = 0;
  // Everything written so far to the file is on its devices (MPI_File_sync, fsync).
  virtual void flush(SimTime now, FileId file, const Client& client, Completion& completion) = 0;

  // The file grows or shrinks to this size. False when the file system has no room for it: nothing
  // has changed then.
  virtual bool resize(FileId file, uint64_t bytes) = 0;
  virtual void remove(FileId file) = 0;
  // What the file has up to its size was written before the run: it lies on the devices.
  virtual void note_contents(FileId file) = 0;
  // The node's cache drops what it has of whole blocks from `begin` to `end` and is not dirty.
  virtual void drop(FileId file, int node, uint64_t begin, uint64_t end) = 0;

  virtual Statistics statistics() const = 0;

  // How a file lies that has not had any data yet: later it stays as it is. What makes no sense
  // (a unit that is not whole blocks, an I/O node that is not there) is as it was.
  virtual void set_striping(FileId file, const Striping& striping) = 0;
  // Nothing for a file system without I/O nodes.
  virtual std::optional<Striping> striping(FileId file) const = 0;
};

}  // namespace sesame::storage
