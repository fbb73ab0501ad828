#include "core/mpi/communicators/predefined.h"

#include <numeric>

#include "core/mpi/messages/world.h"
#include "core/mpi/objects/attributes.h"

namespace sesame::mpi {
namespace {

constexpr uint32_t kWorldContext = 0;
constexpr uint32_t kSelfContext = 2;
// Beyond the contexts of agreements and connections.
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

// Keeps the list in the job: interning needs the whole list, which each rank would have to build.
const MembersRef& members_of(World& world, Job& job) {
  if (job.members == nullptr) {
    std::vector<int> ranks(static_cast<size_t>(job.size));
    std::iota(ranks.begin(), ranks.end(), job.first_rank);
    job.members = world.intern(std::move(ranks));
  }
  return job.members;
}

}  // namespace

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
  comm->local = comm->remote = rank.world.all_ranks();
  return Transfer(*comm, tag);
}

int delete_self_attributes(Rank& rank) {
  const CommObject* self = rank.objects.self;
  return self != nullptr ? delete_attributes(self->attributes.get(), self->handle) : MPI_SUCCESS;
}

}  // namespace sesame::mpi
