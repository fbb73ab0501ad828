// MPI_Comm_dup, _create, _create_group, _split and their relatives (MPI 4.1, section 7.4).
#include "core/mpi/communicators/comm_create.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/mpi/api.h"
#include "core/mpi/communicators/agree.h"
#include "core/mpi/communicators/split_types.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/buffered.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/attributes.h"
#include "core/mpi/objects/errhandler.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/group.h"
#include "core/mpi/objects/info.h"
#include "core/mpi/objects/topology.h"

namespace sesame::mpi {
namespace {

// The context of a communicator until its ranks have agreed on one; no message uses it.
constexpr uint32_t kNoContext = 0xfffffff0;

CommObject* new_comm(const CommObject* parent, MembersRef local, int my_rank) {
  auto* comm = new CommObject;
  comm->rank = my_rank;
  comm->local = comm->remote = std::move(local);
  if (parent != nullptr) {
    comm->errhandler = parent->errhandler;
    retain(comm->errhandler);
  }
  return comm;
}

// Makes a duplicate without a context.
int begin_duplicate(const CommObject& parent, const InfoObject* info, CommObject** newcomm) {
  Rank& rank = this_rank();
  CommObject* comm = parent.is_inter
                         ? add_inter(rank, &parent, parent.local, parent.remote, kNoContext)
                         : add_intra(rank, &parent, parent.local, kNoContext);
  if (const int error = copy_attributes(parent.attributes.get(), parent.handle, comm->attributes);
      error != MPI_SUCCESS) {
    discard(rank, comm);
    return error;
  }
  if (parent.topology != nullptr) comm->topology = std::make_unique<Topology>(*parent.topology);
  add_hints(*comm, info);
  *newcomm = comm;
  return MPI_SUCCESS;
}

uint32_t contexts_of(const CommObject& comm) {
  return comm.is_inter ? kInterContexts : kIntraContexts;
}

int duplicate(Comm comm, bool with_info, Info info, Comm* newcomm) {
  CommObject* parent;
  MPI_TRY(check_comm(comm, &parent));
  MPI_TRY(check_out(newcomm, "newcomm"));
  *newcomm = MPI_COMM_NULL;
  InfoObject* hints = parent->info;
  if (with_info) MPI_TRY(check_info(info, &hints));
  CommObject* copy;
  MPI_TRY(begin_duplicate(*parent, hints, &copy));
  *newcomm = copy->handle;
  return run_collective(*parent, [copy](Transfer& transfer) {
    set_context(*copy, agree_with_all(this_rank(), transfer, contexts_of(*copy)));
    return MPI_SUCCESS;
  });
}

int start_duplicate(Comm comm, bool with_info, Info info, Comm* newcomm, Request* request) {
  CommObject* parent;
  MPI_TRY(check_comm(comm, &parent));
  MPI_TRY(check_out(newcomm, "newcomm"));
  MPI_TRY(check_out(request, "request"));
  *newcomm = MPI_COMM_NULL;
  InfoObject* hints = parent->info;
  if (with_info) MPI_TRY(check_info(info, &hints));
  CommObject* copy;
  MPI_TRY(begin_duplicate(*parent, hints, &copy));
  *newcomm = copy->handle;
  return start_collective(
      *parent,
      [copy](Transfer& transfer) {
        set_context(*copy, agree_with_all(this_rank(), transfer, contexts_of(*copy), true));
        return MPI_SUCCESS;
      },
      request);
}

std::string name_of_rank(int world_rank) {
  return this_rank().world.ranks[static_cast<size_t>(world_rank)]->name();
}

// All members of the group must be in the communicator.
int check_subgroup(const CommObject& comm, const GroupObject& group) {
  if (group.members == comm.local) return MPI_SUCCESS;
  for (int world_rank : group.members->world_ranks()) {
    if (comm.local->rank_of(world_rank) == MPI_UNDEFINED) {
      return fail(MPI_ERR_GROUP, "the group has a rank that the communicator has not: " +
                                     name_of_rank(world_rank));
    }
  }
  return MPI_SUCCESS;
}

int create_intra(CommObject& parent, const GroupObject& group, Comm* newcomm) {
  Rank& rank = this_rank();
  return run_collective(parent, [&](Transfer& transfer) {
    const uint32_t context = agree_with_all(rank, transfer, kIntraContexts);
    if (group.my_rank != MPI_UNDEFINED) {
      *newcomm = add_intra(rank, &parent, group.members, context)->handle;
    }
    return MPI_SUCCESS;
  });
}

int create_inter(CommObject& parent, const GroupObject& group, Comm* newcomm) {
  Rank& rank = this_rank();
  return run_collective(parent, [&](Transfer& transfer) {
    const uint32_t context = agree_with_all(rank, transfer, kInterContexts);
    const SharedListRef theirs = exchange_between_groups(transfer, group.members->world_ranks());
    MembersRef remote = theirs->derive<MembersRef>(
        [&rank](const std::vector<int>& members) { return rank.world.intern(members); });
    if (group.my_rank != MPI_UNDEFINED && remote->size() > 0) {
      *newcomm = add_inter(rank, &parent, group.members, std::move(remote), context)->handle;
    }
    return MPI_SUCCESS;
  });
}

// The members of the new communicators, by color.
using MembersByColor = std::unordered_map<int, MembersRef>;

// The members of each color, sorted by (key, rank). `all`: (color, key) of each rank of the group.
MembersByColor split_by_color(World& world, const Members& group, const std::vector<int>& all) {
  std::vector<std::tuple<int, int, int>> chosen;  // (color, key, rank)
  for (size_t i = 0; i < all.size(); i += 2) {
    if (all[i] != MPI_UNDEFINED) chosen.emplace_back(all[i], all[i + 1], static_cast<int>(i / 2));
  }
  std::sort(chosen.begin(), chosen.end());
  MembersByColor groups;
  std::vector<int> members;
  for (size_t i = 0; i < chosen.size(); ++i) {
    const auto& [color, key, rank] = chosen[i];
    members.push_back(group[rank]);
    if (i + 1 < chosen.size() && std::get<0>(chosen[i + 1]) == color) continue;
    groups.emplace(color, world.intern(std::exchange(members, {})));
  }
  return groups;
}

// Null when no rank of the group has the color.
MembersRef members_with_color(World& world, const Members& group, SharedList& all, int color) {
  const MembersByColor& groups = all.derive<MembersByColor>(
      [&](const std::vector<int>& values) { return split_by_color(world, group, values); });
  const auto found = groups.find(color);
  return found == groups.end() ? nullptr : found->second;
}

int split_inter(Transfer& transfer, int color, int key, CommObject** newcomm) {
  Rank& rank = this_rank();
  const CommObject& parent = transfer.comm();
  Transfer local_transfer = transfer.local();
  const int mine[2] = {color, key};
  const SharedListRef local = ControlGroup(local_transfer).gather_to_all(mine);
  const SharedListRef remote = exchange_between_groups(transfer, local->values);
  const uint32_t context = agree_with_all(rank, transfer, kInterContexts);
  if (color == MPI_UNDEFINED) return MPI_SUCCESS;
  MembersRef partners = members_with_color(rank.world, *parent.remote, *remote, color);
  if (partners == nullptr) return MPI_SUCCESS;
  *newcomm = add_inter(rank, &parent, members_with_color(rank.world, *parent.local, *local, color),
                       std::move(partners), context);
  return MPI_SUCCESS;
}

int split(CommObject& parent, int color, int key, CommObject** newcomm) {
  *newcomm = nullptr;
  return run_collective(parent, [&](Transfer& transfer) {
    return parent.is_inter ? split_inter(transfer, color, key, newcomm)
                           : split_intra(transfer, color, key, newcomm);
  });
}

// Ranks that share memory share a node; the simulated machine offers no other level.
int split_by_node(CommObject& parent, int key, CommObject** newcomm) {
  const Rank& rank = this_rank();
  return split(parent, rank.world.network.node_of(rank.id), key, newcomm);
}

bool asks_for_shared_memory(Info handle) {
  const InfoObject* info = find_info(this_rank(), handle);
  const std::string* type = info != nullptr ? info->find("mpi_hw_resource_type") : nullptr;
  return type != nullptr && (*type == "mpi_shared_memory" || *type == "node" || *type == "Machine");
}

}  // namespace

CommObject* add_intra(Rank& rank, const CommObject* parent, MembersRef local, uint32_t context) {
  const int my_rank = local->rank_of(rank.id);
  CommObject* comm = new_comm(parent, std::move(local), my_rank);
  comm->handle = rank.objects.comms.add(comm);
  set_context(*comm, context);
  return comm;
}

CommObject* add_inter(Rank& rank, const CommObject* parent, MembersRef local, MembersRef remote,
                      uint32_t context) {
  const int my_rank = local->rank_of(rank.id);
  CommObject* comm = new_comm(parent, local, my_rank);
  comm->is_inter = true;
  comm->low_group = (*local)[0] < (*remote)[0];
  comm->remote = std::move(remote);
  comm->local_comm = new_comm(nullptr, std::move(local), my_rank);
  comm->handle = rank.objects.comms.add(comm);
  set_context(*comm, context);
  return comm;
}

void set_context(CommObject& comm, uint32_t context) {
  comm.context = context;
  if (comm.local_comm != nullptr) comm.local_comm->context = context + kIntraContexts;
}

void discard(Rank& rank, CommObject* comm) { release(rank.objects.comms.remove(comm->handle)); }

void add_hints(CommObject& comm, const InfoObject* info) {
  if (info == nullptr) return;
  if (comm.info == nullptr) comm.info = new InfoObject;
  for (const auto& [key, value] : info->entries) {
    if (key.starts_with("mpi_")) comm.info->set(key, value);
  }
}

uint32_t agree_with_all(Rank& rank, Transfer& transfer, uint32_t contexts, bool concurrent) {
  const CommObject& comm = transfer.comm();
  const AgreementKind kind{concurrent,
                           (uint64_t{comm.context} << 32) | static_cast<uint32_t>(transfer.tag())};
  if (comm.is_inter) {
    return agree_on_context(rank, contexts, kind, [&transfer](std::span<int> values) {
      maximum_of_both_groups(transfer, values);
    });
  }
  ControlGroup control(transfer);
  return agree_on_context(rank, contexts, kind,
                          [&control](std::span<int> values) { control.maximum(values); });
}

int split_intra(Transfer& transfer, int color, int key, CommObject** newcomm) {
  Rank& rank = this_rank();
  const CommObject& parent = transfer.comm();
  const int mine[2] = {color, key};
  MembersRef members;
  {
    const SharedListRef all = ControlGroup(transfer).gather_to_all(mine);
    if (color != MPI_UNDEFINED)
      members = members_with_color(rank.world, *parent.local, *all, color);
  }
  const uint32_t context = agree_with_all(rank, transfer, kIntraContexts);
  if (members != nullptr) *newcomm = add_intra(rank, &parent, std::move(members), context);
  return MPI_SUCCESS;
}

int subset_tag(int tag) { return 0x40000000 | (tag & 0x0fffffff); }

// Copies the hints to the duplicate, as MPICH does. In MPI 4 the call no longer copies them.
int Comm_dup(Comm comm, Comm* newcomm) { return duplicate(comm, false, MPI_INFO_NULL, newcomm); }

int Comm_dup_with_info(Comm comm, Info info, Comm* newcomm) {
  return duplicate(comm, true, info, newcomm);
}

int Comm_idup(Comm comm, Comm* newcomm, Request* request) {
  return start_duplicate(comm, false, MPI_INFO_NULL, newcomm, request);
}

int Comm_idup_with_info(Comm comm, Info info, Comm* newcomm, Request* request) {
  return start_duplicate(comm, true, info, newcomm, request);
}

int Comm_create(Comm comm, Group group, Comm* newcomm) {
  CommObject* parent;
  MPI_TRY(check_comm(comm, &parent));
  GroupObject* members;
  MPI_TRY(check_group(group, &members));
  MPI_TRY(check_out(newcomm, "newcomm"));
  *newcomm = MPI_COMM_NULL;
  MPI_TRY(check_subgroup(*parent, *members));
  return parent->is_inter ? create_inter(*parent, *members, newcomm)
                          : create_intra(*parent, *members, newcomm);
}

int Comm_create_group(Comm comm, Group group, int tag, Comm* newcomm) {
  CommObject* parent;
  MPI_TRY(check_comm(comm, &parent));
  if (parent->is_inter) {
    return fail(MPI_ERR_COMM, "the communicator is an inter-communicator");
  }
  GroupObject* members;
  MPI_TRY(check_group(group, &members));
  MPI_TRY(check_out(newcomm, "newcomm"));
  *newcomm = MPI_COMM_NULL;
  if (tag < 0) return fail(MPI_ERR_TAG, "the tag is negative: " + std::to_string(tag));
  MPI_TRY(check_subgroup(*parent, *members));
  if (members->my_rank == MPI_UNDEFINED) return MPI_SUCCESS;
  Rank& rank = this_rank();
  Transfer transfer(*parent, subset_tag(tag));
  ControlGroup control(transfer, members->members, members->my_rank);
  const uint32_t context = agree_on_context(
      rank, kIntraContexts, {}, [&control](std::span<int> values) { control.maximum(values); });
  *newcomm = add_intra(rank, parent, members->members, context)->handle;
  return transfer.error();
}

int Comm_split(Comm comm, int color, int key, Comm* newcomm) {
  CommObject* parent;
  MPI_TRY(check_comm(comm, &parent));
  MPI_TRY(check_out(newcomm, "newcomm"));
  *newcomm = MPI_COMM_NULL;
  if (color < 0 && color != MPI_UNDEFINED) {
    return fail(MPI_ERR_ARG, "the color is negative: " + std::to_string(color));
  }
  CommObject* part;
  MPI_TRY(split(*parent, color, key, &part));
  if (part != nullptr) *newcomm = part->handle;
  return MPI_SUCCESS;
}

int Comm_split_type(Comm comm, int split_type, int key, Info info, Comm* newcomm) {
  CommObject* parent;
  MPI_TRY(check_comm(comm, &parent));
  MPI_TRY(check_out(newcomm, "newcomm"));
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  *newcomm = MPI_COMM_NULL;
  CommObject* part = nullptr;
  Rank& rank = this_rank();
  switch (split_type) {
    case MPI_COMM_TYPE_SHARED:
      MPI_TRY(split_by_node(*parent, key, &part));
      break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
      MPI_TRY(split_by_node(*parent, key, &part));
      // The new communicator must be smaller, and there is no level below the node.
      if (part != nullptr && part->size() == parent->size()) {
        discard(rank, part);
        part = nullptr;
      }
      break;
    case MPI_COMM_TYPE_HW_GUIDED:
      MPI_TRY(
          split(*parent,
                asks_for_shared_memory(info) ? rank.world.network.node_of(rank.id) : MPI_UNDEFINED,
                key, &part));
      break;
    case kSplitByCore:
      MPI_TRY(split(*parent, parent->rank, key, &part));
      break;
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
    case MPI_UNDEFINED:
      MPI_TRY(split(*parent, MPI_UNDEFINED, key, &part));
      break;
    default:
      return fail(MPI_ERR_ARG, "there is no split type " + std::to_string(split_type));
  }
  if (part != nullptr) *newcomm = part->handle;
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
