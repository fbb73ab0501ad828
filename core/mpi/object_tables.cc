#include "core/mpi/object_tables.h"

#include "core/mpi/attributes.h"
#include "core/mpi/errhandler.h"
#include "core/mpi/info.h"
#include "core/mpi/io/file.h"
#include "core/mpi/io/representation.h"
#include "core/mpi/rma/window.h"
#include "core/mpi/session.h"
#include "core/mpi/world.h"

namespace sesame::mpi {
namespace {

constexpr uint32_t kWorldContext = 0;
constexpr uint32_t kSelfContext = 2;

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

std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) ranks[static_cast<size_t>(i)] = i;
  return ranks;
}

}  // namespace

ObjectTables::ObjectTables() = default;

ObjectTables::~ObjectTables() {
  keyvals.visit([](KeyvalObject& keyval) { keyval.table = nullptr; });
  release(world);
  release(self);
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
  // Every rank would otherwise build the whole list before it finds the shared one.
  const CommObject* first = world.ranks.front()->objects.world;
  MembersRef everyone = first != nullptr ? first->local : world.intern(all_ranks(world.size()));
  objects.world = create_predefined(MPI_COMM_WORLD, kWorldContext, std::move(everyone), rank.id,
                                    "MPI_COMM_WORLD");
  objects.self =
      create_predefined(MPI_COMM_SELF, kSelfContext, world.intern({rank.id}), 0, "MPI_COMM_SELF");
  objects.universe_size = world.size();
}

int delete_self_attributes(Rank& rank) {
  return rank.objects.self != nullptr ? delete_attributes(*rank.objects.self) : MPI_SUCCESS;
}

}  // namespace sesame::mpi
