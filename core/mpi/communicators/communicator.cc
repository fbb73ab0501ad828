// MPI functions that query, compare, name and free communicators, and those on their hints (MPI
// 4.1, sections 7.4 to 7.8).
#include <algorithm>
#include <cstring>

#include "core/mpi/api.h"
#include "core/mpi/communicators/comm_create.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/objects/attributes.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/group.h"
#include "core/mpi/objects/info.h"

namespace sesame::mpi {
namespace {

int check_inter(Comm handle, CommObject** comm) {
  MPI_TRY(check_comm(handle, comm));
  if ((*comm)->is_inter) return MPI_SUCCESS;
  return fail(MPI_ERR_COMM, "the communicator is not an inter-communicator");
}

// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
int compare_members(const Members& a, const Members& b) {
  if (&a == &b || a.world_ranks() == b.world_ranks()) return MPI_IDENT;
  if (a.size() != b.size()) return MPI_UNEQUAL;
  const bool same_set = std::all_of(a.world_ranks().begin(), a.world_ranks().end(),
                                    [&b](int rank) { return b.rank_of(rank) != MPI_UNDEFINED; });
  return same_set ? MPI_SIMILAR : MPI_UNEQUAL;
}

int compare(const CommObject& a, const CommObject& b) {
  if (&a == &b) return MPI_IDENT;
  if (a.is_inter != b.is_inter) return MPI_UNEQUAL;
  const int local = compare_members(*a.local, *b.local);
  const int remote = a.is_inter ? compare_members(*a.remote, *b.remote) : local;
  if (local == MPI_UNEQUAL || remote == MPI_UNEQUAL) return MPI_UNEQUAL;
  return local == MPI_IDENT && remote == MPI_IDENT ? MPI_CONGRUENT : MPI_SIMILAR;
}

int end_comm(Comm* handle, CommObject* comm) {
  if (*handle == MPI_COMM_WORLD || *handle == MPI_COMM_SELF) {
    return fail(MPI_ERR_COMM, comm->name + " is a predefined communicator and cannot be freed");
  }
  MPI_TRY(delete_attributes(comm->attributes.get(), comm->handle));
  ObjectTables& objects = this_rank().objects;
  if (comm == objects.parent) objects.parent = nullptr;
  // Pending operations hold references to the object until they are complete.
  release(objects.comms.remove(*handle));
  *handle = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

}  // namespace

int Comm_size(Comm comm, int* size) {
  CommObject* object;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_out(size, "size"));
  *size = object->size();
  return MPI_SUCCESS;
}

int Comm_rank(Comm comm, int* rank) {
  CommObject* object;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_out(rank, "rank"));
  *rank = object->rank;
  return MPI_SUCCESS;
}

int Comm_test_inter(Comm comm, int* flag) {
  CommObject* object;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_out(flag, "flag"));
  *flag = object->is_inter ? 1 : 0;
  return MPI_SUCCESS;
}

int Comm_remote_size(Comm comm, int* size) {
  CommObject* object;
  MPI_TRY(check_inter(comm, &object));
  MPI_TRY(check_out(size, "size"));
  *size = object->remote_size();
  return MPI_SUCCESS;
}

int Comm_group(Comm comm, Group* group) {
  CommObject* object;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_out(group, "group"));
  *group = publish_group(this_rank(), object->local);
  return MPI_SUCCESS;
}

int Comm_remote_group(Comm comm, Group* group) {
  CommObject* object;
  MPI_TRY(check_inter(comm, &object));
  MPI_TRY(check_out(group, "group"));
  *group = publish_group(this_rank(), object->remote);
  return MPI_SUCCESS;
}

int Comm_compare(Comm comm1, Comm comm2, int* result) {
  CommObject* one;
  CommObject* two;
  MPI_TRY(check_comm(comm1, &one));
  MPI_TRY(check_comm(comm2, &two));
  MPI_TRY(check_out(result, "result"));
  *result = compare(*one, *two);
  return MPI_SUCCESS;
}

int Comm_free(Comm* comm) {
  MPI_TRY(check_out(comm, "comm"));
  CommObject* object;
  MPI_TRY(check_comm(*comm, &object));
  return end_comm(comm, object);
}

// Simulated ranks stay connected, so this only frees the communicator.
int Comm_disconnect(Comm* comm) { return Comm_free(comm); }

int Comm_get_parent(Comm* parent) {
  MPI_TRY(check_out(parent, "parent"));
  const CommObject* comm = this_rank().objects.parent;
  *parent = comm != nullptr ? comm->handle : MPI_COMM_NULL;
  return MPI_SUCCESS;
}

int Comm_set_name(Comm comm, const char* comm_name) {
  CommObject* object;
  MPI_TRY(check_comm(comm, &object));
  if (comm_name == nullptr) return fail(MPI_ERR_ARG, "the name is a null pointer");
  object->name.assign(comm_name, strnlen(comm_name, MPI_MAX_OBJECT_NAME - 1));
  return MPI_SUCCESS;
}

int Comm_get_name(Comm comm, char* comm_name, int* resultlen) {
  MPI_TRY(check_out(comm_name, "comm_name"));
  MPI_TRY(check_out(resultlen, "resultlen"));
  if (comm == MPI_COMM_NULL) {
    std::strcpy(comm_name, "MPI_COMM_NULL");
  } else {
    CommObject* object;
    MPI_TRY(check_comm(comm, &object));
    std::strcpy(comm_name, object->name.c_str());
  }
  *resultlen = static_cast<int>(std::strlen(comm_name));
  return MPI_SUCCESS;
}

int Comm_set_info(Comm comm, Info info) {
  CommObject* object;
  MPI_TRY(check_comm(comm, &object));
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  add_hints(*object, hints);
  return MPI_SUCCESS;
}

int Comm_get_info(Comm comm, Info* info_used) {
  CommObject* object;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_out(info_used, "info_used"));
  *info_used = publish_info(this_rank(), object->info);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
