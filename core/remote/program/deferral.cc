#include "core/remote/program/deferral.h"

#include <cstring>

#include "core/remote/program/comm_facts.h"

namespace sesame::remote {
namespace {

// Of a query that needs no communicator, between MPI_Init and MPI_Finalize.
bool defer_query() {
  return may_defer() && own_slot().thread_level != kNotInitialized && defer_scope();
}

bool is_peer(int peer, Comm comm) {
  const std::optional<CommFacts> facts = facts_of(comm);
  return facts && peer >= 0 && peer < facts->size;
}

bool answer(Comm comm, int* value, int CommFacts::*fact) {
  if (value == nullptr || !may_defer()) return false;
  const std::optional<CommFacts> facts = facts_of(comm);
  if (!facts || facts->size == 0 || !defer_scope()) return false;
  *value = (*facts).*fact;
  return true;
}

}  // namespace

bool is_plain_send(const void* buffer, Count count, Datatype datatype, int dest, int tag,
                   Comm comm) {
  const Count size = predefined_size(datatype);
  return may_defer() && buffer != nullptr && tag >= 0 && size > 0 && count >= 0 &&
         count <= kMostWindow / size && is_peer(dest, comm);
}

bool is_plain_receive(const void* buffer, Count count, Datatype datatype, int source, int tag,
                      Comm comm) {
  const bool is_tag = tag >= 0 || tag == MPI_ANY_TAG;
  return may_defer() && is_tag && buffer != nullptr && count >= 0 &&
         predefined_size(datatype) > 0 && is_peer(source == MPI_ANY_SOURCE ? 0 : source, comm);
}

bool answer_Comm_rank(Comm comm, int* rank) { return answer(comm, rank, &CommFacts::rank); }
bool answer_Comm_size(Comm comm, int* size) { return answer(comm, size, &CommFacts::size); }

bool answer_Type_size(Datatype datatype, Count* size) {
  const Count known = predefined_size(datatype);
  if (size == nullptr || known == 0 || !defer_query()) return false;
  *size = known;
  return true;
}

bool answer_Initialized(int* flag) {
  if (flag == nullptr || !defer_query()) return false;
  *flag = 1;
  return true;
}

bool answer_Get_processor_name(char* name, int* length) {
  if (name == nullptr || length == nullptr) return false;
  const char* const node = own_slot().node_name;
  const size_t size = std::strlen(node);
  const bool is_whole = size < sizeof own_slot().node_name - 1 && size < MPI_MAX_PROCESSOR_NAME;
  if (!is_whole || !defer_query()) return false;
  std::strcpy(name, node);
  *length = static_cast<int>(size);
  return true;
}

}  // namespace sesame::remote
