// Groups and communicators of one rank. Objects are reference counted; the rank's tables own one
// reference for each handle (object_tables.h). Only the list of a group's members is shared by all
// ranks (World::intern). Making communicators is in communicators/. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/pool.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/handle_table.h"

namespace sesame::mpi {

class AttributeSet;
class CollectiveLog;
struct AttachedBuffer;
struct ErrhandlerObject;
struct InfoObject;
struct NodeGroups;
struct Topology;
struct WindowObject;

// The members of a group: ranks of the run (world ranks) in group order. Immutable and shared. Also
// used for other lists of integers that ranks share (the arrays of a graph topology).
class Members {
 public:
  explicit Members(std::vector<int> world_ranks);

  int size() const { return static_cast<int>(world_ranks_.size()); }
  int operator[](int rank) const { return world_ranks_[static_cast<size_t>(rank)]; }
  // The position of a world rank, MPI_UNDEFINED if it is not a member. O(log n).
  int rank_of(int world_rank) const;
  const std::vector<int>& world_ranks() const { return world_ranks_; }

  // The members by node, while a communicator uses that: node_groups().
  mutable std::weak_ptr<const NodeGroups> by_node;

 private:
  std::vector<int> world_ranks_;
  bool ascends_ = false;
  mutable std::vector<std::pair<int, int>> by_world_rank_;  // made at the first search
};
using MembersRef = std::shared_ptr<const Members>;

struct GroupObject : Counted {
  Group handle = MPI_GROUP_NULL;
  MembersRef members;
  int my_rank = MPI_UNDEFINED;
};

struct CommObject : Counted, Pooled<CommObject> {
  Comm handle = MPI_COMM_NULL;
  // Two matching contexts: `context`, which is even, for messages of the program and `context` + 1
  // for those of collectives.
  uint32_t context = 0;
  int rank = 0;  // in the local group
  MembersRef local;
  MembersRef remote;  // receives the messages: the other group, or `local` if not is_inter
  bool is_inter = false;
  bool low_group = false;            // inter-communicator: the local group comes first in a merge
  CommObject* local_comm = nullptr;  // inter-communicator: the local group's own communicator
  uint32_t next_collective = 0;      // sequence number of the next collective: its tag
  // Shared by the communicator's ranks; made at the first collective.
  std::shared_ptr<CollectiveLog> collective_log;
  std::shared_ptr<const NodeGroups> nodes;  // shared likewise; made when a collective needs it

  std::string name;
  ErrhandlerObject* errhandler = nullptr;
  std::unique_ptr<AttributeSet> attributes;
  std::unique_ptr<Topology> topology;
  InfoObject* info = nullptr;
  std::unique_ptr<AttachedBuffer> attached_buffer;  // for buffered sends
  WindowObject* window = nullptr;                   // the window for which this was made, if any

  CommObject();
  ~CommObject();

  int size() const { return local->size(); }
  int remote_size() const { return remote->size(); }
};

}  // namespace sesame::mpi
