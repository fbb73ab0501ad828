#include "core/remote/program/deferral.h"

#include <array>
#include <atomic>
#include <cstring>

#include "core/remote/program/comm_facts.h"

namespace sesame::remote {
namespace {

// Of a query that needs no communicator, between MPI_Init and MPI_Finalize.
bool defer_query() {
  return may_defer() && own_slot().thread_level != kNotInitialized && defer_scope();
}

// The size of a predefined type that there is; 0: it is none. A handle of the same form may stand
// for nothing, so the simulator is asked for each type once.
Count size_of_known(Datatype datatype) {
  static std::array<std::atomic<Datatype>, 256> known;
  const Count size = predefined_size(datatype);
  std::atomic<Datatype>& place = known[datatype & 0xff];
  if (size == 0 || place.load(std::memory_order_relaxed) == datatype) return size;
  CallRequest request(static_cast<uint16_t>(SpecialCall::kHasType));
  request.put(datatype);
  if (request.query() == 0) return 0;
  place.store(datatype, std::memory_order_relaxed);
  return size;
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
  if (!may_defer() || buffer == nullptr || tag < 0 || count < 0) return false;
  const Count size = size_of_known(datatype);
  return size > 0 && count <= kMostWindow / size && is_peer(dest, comm);
}

bool is_eager(Count count, Datatype datatype) {
  const Count size = predefined_size(datatype);
  const uint64_t limit = own_slot().eager_limit;
  return size == 0 || count < 0 ||
         static_cast<uint64_t>(count) <= limit / static_cast<uint64_t>(size);
}

bool is_plain_receive(const void* buffer, Count count, Datatype datatype, int source, int tag,
                      Comm comm) {
  const bool is_tag = tag >= 0 || tag == MPI_ANY_TAG;
  return may_defer() && is_tag && buffer != nullptr && count >= 0 && size_of_known(datatype) > 0 &&
         is_peer(source == MPI_ANY_SOURCE ? 0 : source, comm);
}

bool answer_Comm_rank(Comm comm, int* rank) { return answer(comm, rank, &CommFacts::rank); }
bool answer_Comm_size(Comm comm, int* size) { return answer(comm, size, &CommFacts::size); }

bool answer_Type_size(Datatype datatype, Count* size) {
  if (size == nullptr || !may_defer()) return false;
  const Count known = size_of_known(datatype);
  if (known == 0 || !defer_query()) return false;
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
