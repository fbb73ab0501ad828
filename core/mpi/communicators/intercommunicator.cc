// MPI_Intercomm_create and MPI_Intercomm_merge (MPI 4.1, section 7.6).
#include <algorithm>

#include "core/mpi/api.h"
#include "core/mpi/communicators/agree.h"
#include "core/mpi/communicators/comm_create.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

int check_leader(const CommObject& comm, int leader, const char* which) {
  if (leader >= 0 && leader < comm.size()) return MPI_SUCCESS;
  return fail(MPI_ERR_RANK, "the rank of the " + std::string(which) + " leader, " +
                                std::to_string(leader) + ", is not in its communicator of " +
                                std::to_string(comm.size()) + " ranks");
}

bool overlap(const Members& a, const Members& b) {
  return std::any_of(a.world_ranks().begin(), a.world_ranks().end(),
                     [&b](int rank) { return b.rank_of(rank) != MPI_UNDEFINED; });
}

struct OtherGroup {
  MembersRef members;
  bool overlaps;  // with the own group
};

// The leaders exchange the groups' world ranks on the peer communicator, then broadcast them in
// their groups.
int connect(CommObject& local_comm, int local_leader, CommObject* peer_comm, int remote_leader,
            int tag, Comm* newintercomm) {
  Rank& rank = this_rank();
  return run_collective(local_comm, [&](Transfer& local) {
    ControlGroup control(local);
    const bool leads = local.rank() == local_leader;
    const auto with_leaders = [&](std::vector<int> mine) {
      if (leads) {
        Transfer peers(*peer_comm, subset_tag(tag));
        mine = exchange_lists(peers, mine, remote_leader);
      }
      return control.broadcast_shared(std::move(mine), local_leader);
    };
    const SharedListRef list =
        with_leaders(leads ? local_comm.local->world_ranks() : std::vector<int>());
    const OtherGroup& remote = list->derive<OtherGroup>([&](const std::vector<int>& members) {
      const MembersRef group = rank.world.intern(members);
      return OtherGroup{group, overlap(*local_comm.local, *group)};
    });
    const uint32_t context = agree_on_context(rank, kInterContexts, {}, [&](std::span<int> values) {
      control.maximum(values);
      const SharedListRef theirs = with_leaders({values.begin(), values.end()});
      for (size_t i = 0; i < values.size(); ++i) values[i] = std::max(values[i], theirs->values[i]);
    });
    if (remote.overlaps) {
      return fail(MPI_ERR_COMM, "the two groups of an inter-communicator have a rank in common");
    }
    *newintercomm = add_inter(rank, &local_comm, local_comm.local, remote.members, context)->handle;
    return MPI_SUCCESS;
  });
}

}  // namespace

int Intercomm_create(Comm local_comm, int local_leader, Comm peer_comm, int remote_leader, int tag,
                     Comm* newintercomm) {
  CommObject* local;
  MPI_TRY(check_comm(local_comm, &local));
  if (local->is_inter) {
    return fail(MPI_ERR_COMM, "the local communicator is an inter-communicator");
  }
  MPI_TRY(check_leader(*local, local_leader, "local"));
  MPI_TRY(check_out(newintercomm, "newintercomm"));
  *newintercomm = MPI_COMM_NULL;
  CommObject* peer = nullptr;
  if (local->rank == local_leader) {
    // MPI uses these two on the leader only.
    MPI_TRY(check_comm(peer_comm, &peer));
    if (remote_leader < 0 || remote_leader >= peer->remote_size()) {
      return fail(MPI_ERR_RANK, "the rank of the remote leader, " + std::to_string(remote_leader) +
                                    ", is not in the peer communicator of " +
                                    std::to_string(peer->remote_size()) + " ranks");
    }
    if (!peer->is_inter && remote_leader == peer->rank) {
      return fail(MPI_ERR_RANK, "the remote leader is the local leader itself");
    }
  }
  if (tag < 0) return fail(MPI_ERR_TAG, "the tag is negative: " + std::to_string(tag));
  return connect(*local, local_leader, peer, remote_leader, tag, newintercomm);
}

// The group that passes `high` comes last. If both pass the same, the order is that of the groups'
// first members in the run.
int Intercomm_merge(Comm intercomm, int high, Comm* newintracomm) {
  CommObject* parent;
  MPI_TRY(check_comm(intercomm, &parent));
  if (!parent->is_inter) {
    return fail(MPI_ERR_COMM, "the communicator is not an inter-communicator");
  }
  MPI_TRY(check_out(newintracomm, "newintracomm"));
  *newintracomm = MPI_COMM_NULL;
  Rank& rank = this_rank();
  return run_collective(*parent, [&](Transfer& transfer) {
    const int mine = high != 0 ? 1 : 0;
    const SharedListRef theirs = exchange_between_groups(transfer, {mine});
    const bool first = mine == theirs->values[0] ? parent->low_group : mine == 0;
    MembersRef members = theirs->derive<MembersRef>([&](const std::vector<int>&) {
      const Members& front = first ? *parent->local : *parent->remote;
      const Members& back = first ? *parent->remote : *parent->local;
      std::vector<int> both = front.world_ranks();
      both.insert(both.end(), back.world_ranks().begin(), back.world_ranks().end());
      return rank.world.intern(std::move(both));
    });
    const uint32_t context = agree_with_all(rank, transfer, kIntraContexts);
    *newintracomm = add_intra(rank, parent, std::move(members), context)->handle;
    return MPI_SUCCESS;
  });
}

}  // namespace sesame::mpi
