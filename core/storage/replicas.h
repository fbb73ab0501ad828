// Replicas: the file systems that nodes share, in a parallel simulation. Each worker has all of
// them, and keeps its copies in the same state as the others do: each call that changes one is made
// in all workers, in the same order (state machine replication; Schneider, "Implementing
// fault-tolerant services using the state machine approach", 1990). So each worker knows by itself
// what a file system answers and when an access of its own ranks is complete. The bytes are in the
// host's files, which all workers see.
//
// Use: replicate() each shared file system before the workers are forked, with
// Executive::model_events() as its queue; connect() in each worker; pass each frame of another
// worker to take(). Make calls that change something in the worker's turn only
// (Executive::has_turn()). One thread each.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/pdes/executive.h"
#include "core/storage/file_system.h"
#include "core/storage/mounts.h"

namespace sesame::storage {

class Replicas {
 public:
  // Sends a frame to all other workers. Is called in the worker's turn only
  // (Executive::has_turn()).
  using Tell = std::function<void(std::span<const char> frame)>;
  // The time from which the network interface of this rank is free (Client::interface_free).
  using InterfaceOf = std::function<SimTime*(int rank)>;

  explicit Replicas(pdes::Executive& executive) : executive_(executive) {}
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  // The result tells the others of each call. This object must outlive it.
  std::unique_ptr<FileSystem> replicate(std::unique_ptr<FileSystem> system);
  void connect(Mounts& mounts, InterfaceOf interface_of, Tell tell);
  void take(std::span<const char> frame);

 private:
  class System;
  friend class System;
  struct Request;
  void tell(std::span<const char> frame);
  void tell_change(const MountsChange& change);

  pdes::Executive& executive_;
  std::vector<System*> systems_;
  Mounts* mounts_ = nullptr;
  InterfaceOf interface_of_;
  Tell tell_;  // empty before connect()
};

}  // namespace sesame::storage
