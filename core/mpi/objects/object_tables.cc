#include "core/mpi/objects/object_tables.h"

#include <numeric>

#include "core/mpi/communicators/session.h"
#include "core/mpi/io/file.h"
#include "core/mpi/io/representation.h"
#include "core/mpi/messages/transfer.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/attributes.h"
#include "core/mpi/objects/errhandler.h"
#include "core/mpi/objects/info.h"
#include "core/mpi/rma/window.h"

namespace sesame::mpi {
namespace {

constexpr uint32_t kWorldContext = 0;
constexpr uint32_t kSelfContext = 2;
// No agreement gets as far.
constexpr uint32_t kUniverseContext = 0x7ffffff0;

CommObject* create_predefined(Comm handle, uint32_t context, MembersRef members, int rank,
                              const char* name) {
  auto* comm = new CommObject;
  comm->handle = handle;
  comm->context = context;
  comm->local = comm->remote = std::move(members);
  comm->rank = rank;
  comm->name = name;
  return comm;
}

// Every rank would otherwise build the whole list before it finds the shared one.
const MembersRef& members_of(World& world, Job& job) {
  if (job.members == nullptr) {
    std::vector<int> ranks(static_cast<size_t>(job.size));
    std::iota(ranks.begin(), ranks.end(), job.first_rank);
    job.members = world.intern(std::move(ranks));
  }
  return job.members;
}

}  // namespace

ObjectTables::ObjectTables() = default;

ObjectTables::~ObjectTables() {
  keyvals.visit([](KeyvalObject& keyval) { keyval.table = nullptr; });
  release(world);
  release(self);
  release(universe);
  release(empty_group);
  release(environment);
  release(file_errhandler);
  for (ErrhandlerObject* errhandler : predefined_errhandlers) release(errhandler);
}

CommObject* find_comm(Rank& rank, Comm handle) {
  if (handle == MPI_COMM_WORLD) [[likely]]
    return rank.objects.world;
  if (handle == MPI_COMM_SELF) return rank.objects.self;
  return rank.objects.comms.find(handle);
}

void create_world_communicators(Rank& rank) {
  ObjectTables& objects = rank.objects;
  if (objects.world != nullptr) return;
  World& world = rank.world;
  objects.world = create_predefined(MPI_COMM_WORLD, kWorldContext, members_of(world, rank.job),
                                    rank.id - rank.job.first_rank, "MPI_COMM_WORLD");
  objects.self =
      create_predefined(MPI_COMM_SELF, kSelfContext, world.intern({rank.id}), 0, "MPI_COMM_SELF");
}

Transfer universe_transfer(Rank& rank, int tag) {
  CommObject*& comm = rank.objects.universe;
  if (comm == nullptr) comm = create_predefined(MPI_COMM_NULL, kUniverseContext, {}, rank.id, "");
  comm->local = comm->remote = rank.world.everyone();
  return Transfer(*comm, tag);
}

int delete_self_attributes(Rank& rank) {
  return rank.objects.self != nullptr ? delete_attributes(*rank.objects.self) : MPI_SUCCESS;
}

}  // namespace sesame::mpi
