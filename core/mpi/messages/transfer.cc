#include "core/mpi/messages/transfer.h"

#include <array>
#include <bit>

#include "core/base/check.h"
#include "core/mpi/messages/messaging.h"
#include "core/mpi/messages/mismatch.h"
#include "core/mpi/messages/node_groups.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

// Both are choices (docs/decisions/0006-loading-ahead.md): the memory of so many ranks, some 10 KiB
// each, does not fit into the cache of one core; that of the ranks that exchange messages in so
// many steps, 64, does.
constexpr int kManyRanks = 512;
constexpr int kStepsOfGroup = 6;

Strand& running() { return self(); }

[[gnu::cold]] std::string describe_short_message(const RequestObject& receive) {
  return name_of_member(*receive.comm->remote, receive.status.MPI_SOURCE) + " sends " +
         std::to_string(receive.status.byte_count()) + " bytes, but this rank expects " +
         std::to_string(receive.bytes());
}

}  // namespace

// Keeps the first error. A message inside a collective must be as long as its receive: otherwise
// the ranks disagree about the length.
void Transfer::record_outcome(const RequestObject& request) {
  if (error_ != MPI_SUCCESS) return;
  error_ = request.error;
  if (request.kind != RequestObject::Kind::kReceive || request.peer == MPI_PROC_NULL) return;
  const Count expected = request.bytes();
  if (error_ == MPI_SUCCESS && request.status.byte_count() != expected) [[unlikely]]
    error_ = fail(MPI_ERR_TRUNCATE, describe_short_message(request));
}

Transfer Transfer::among(std::span<const int> ranks, int place) const {
  CHECK(!comm_.is_inter && !is_part());
  Transfer part(comm_, tag_, is_blocking_);
  part.ranks_ = ranks;
  part.place_ = place;
  return part;
}

const NodeGroups& Transfer::nodes() const {
  if (comm_.nodes == nullptr) comm_.nodes = node_groups(*comm_.local, this_rank().world.network);
  return *comm_.nodes;
}

bool Transfer::has_two_levels() const { return !is_part() && nodes().has_two_levels(); }

// Not where messages are events, which wake their receivers in the order of time; nor where the
// ranks of one of several communicators run ahead of the others in the cache.
bool Transfer::lines_up() const {
  if (!is_blocking_ || is_part() || comm_.is_inter || comm_.size() < kManyRanks) return false;
  const World& world = this_rank().world;
  return world.traffic == nullptr && 2 * static_cast<size_t>(comm_.size()) >= world.ranks.size();
}

void Transfer::line_up(int place) const {
  this_rank().world.executive.line_up(static_cast<uint64_t>(comm_.context) << 32 |
                                      static_cast<uint32_t>(place));
}

void Transfer::begin_together() {
  if (lines_up()) line_up(comm_.rank);
}

void Transfer::begin_step(int distance) {
  if (distance == 1 || std::countr_zero(static_cast<unsigned>(distance)) % kStepsOfGroup != 0)
    return;
  if (!lines_up()) return;
  constexpr int kGroup = 1 << kStepsOfGroup;
  const int member = comm_.rank / distance % kGroup;
  const int group = comm_.rank / (distance * kGroup) * distance + comm_.rank % distance;
  line_up(group * kGroup + member);
}

// Starts an operation on a request of the collective.
void Transfer::start(RequestObject& request, RequestObject::Kind kind, const void* buffer,
                     Count count, const DatatypeObject& type, int peer, bool carries_data) {
  if (is_part() && peer != MPI_PROC_NULL) peer = ranks_[static_cast<size_t>(peer)];
  describe_operation(request, kind, const_cast<void*>(buffer), count, type, peer, tag_, comm_);
  request.context = comm_.context + 1;
  request.carries_data = carries_data;
  if (kind == RequestObject::Kind::kSend) {
    post_send(running(), request);
  } else {
    post_receive(running(), request);
  }
}

void Transfer::start_send(RequestObject& request, const void* buffer, Count count,
                          const DatatypeObject& type, int to) {
  start(request, RequestObject::Kind::kSend, buffer, count, type, to, true);
}

void Transfer::start_receive(RequestObject& request, void* buffer, Count count,
                             const DatatypeObject& type, int from) {
  start(request, RequestObject::Kind::kReceive, buffer, count, type, from, true);
}

void Transfer::send(const void* buffer, Count count, const DatatypeObject& type, int to) {
  RequestObject request;
  start_send(request, buffer, count, type, to);
  await(running(), request);
}

void Transfer::receive(void* buffer, Count count, const DatatypeObject& type, int from) {
  RequestObject request;
  start_receive(request, buffer, count, type, from);
  await(running(), request);
  record_outcome(request);
}

void Transfer::send_receive(const void* send_buffer, Count send_count,
                            const DatatypeObject& send_type, int to, void* receive_buffer,
                            Count receive_count, const DatatypeObject& receive_type, int from) {
  RequestObject receive;
  RequestObject send;
  start_receive(receive, receive_buffer, receive_count, receive_type, from);
  start_send(send, send_buffer, send_count, send_type, to);
  RequestObject* both[] = {&receive, &send};
  await_all(running(), both);
  record_outcome(receive);
}

void Transfer::send_length(Count count, const DatatypeObject& type, int to) {
  RequestObject request;
  start(request, RequestObject::Kind::kSend, nullptr, count, type, to, false);
  await(running(), request);
}

void Transfer::receive_length(Count count, const DatatypeObject& type, int from) {
  RequestObject request;
  start(request, RequestObject::Kind::kReceive, nullptr, count, type, from, false);
  await(running(), request);
  record_outcome(request);
}

void Transfer::send_receive_length(Count count, const DatatypeObject& type, int to, int from) {
  RequestObject receive;
  RequestObject send;
  start(receive, RequestObject::Kind::kReceive, nullptr, count, type, from, false);
  start(send, RequestObject::Kind::kSend, nullptr, count, type, to, false);
  RequestObject* both[] = {&receive, &send};
  await_all(running(), both);
  record_outcome(receive);
}

void Transfer::charge_copy_time(Count bytes) {
  Strand& strand = running();
  strand.now += strand.rank->world.network.copy_time(static_cast<uint64_t>(bytes));
}

void Transfer::charge_packing_time(int blocks) {
  Strand& strand = running();
  strand.now += strand.rank->world.network.packing_time(blocks);
}

void charge_reduction_time(Count bytes) {
  Strand& strand = running();
  strand.now += strand.rank->world.network.reduction_time(static_cast<uint64_t>(bytes));
}

void Transfer::wait_all(std::span<RequestObject> requests) {
  std::array<RequestObject*, 32> few;
  std::vector<RequestObject*> many;
  std::span<RequestObject*> pointers(few);
  if (requests.size() > few.size()) {
    many.resize(requests.size());
    pointers = many;
  }
  for (size_t i = 0; i < requests.size(); ++i) pointers[i] = &requests[i];
  await_all(running(), pointers.first(requests.size()));
  for (const RequestObject& request : requests) record_outcome(request);
}

// Gives the tag of the communicator's next collective, its sequence number, and enters it in the
// log.
static int next_tag(CommObject& comm, const CollectiveSignature& signature, int* tag) {
  const uint32_t sequence = comm.next_collective++;
  *tag = static_cast<int>(sequence);
  return enter_collective_log(comm, sequence, signature);
}

int run_collective(CommObject& comm, const CollectiveBody& body,
                   const CollectiveSignature& signature) {
  int tag;
  MPI_TRY(next_tag(comm, signature, &tag));
  Transfer transfer(comm, tag);
  const int error = body(transfer);
  return error != MPI_SUCCESS ? error : transfer.error();
}

namespace {

// Runs the body on a helper strand. The request takes effect at the time at which the strand ends.
void launch(RequestObject& request, const CollectiveBody& body, int tag) {
  CommObject& comm = *request.comm;
  Strand& caller = self();
  caller.rank->world.start_strand(*caller.rank, caller.now, [&request, body, &comm, tag] {
    Transfer transfer(comm, tag, false);
    const int error = body(transfer);
    request.error = error != MPI_SUCCESS ? error : transfer.error();
    complete(request, self().now);
  });
}

RequestObject* new_collective_request(CommObject& comm) {
  auto* request = new RequestObject;
  request->kind = RequestObject::Kind::kCollective;
  request->comm = &comm;
  request->status = Status{0, 0, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS};
  request->hold_objects();
  return request;
}

}  // namespace

int start_collective(CommObject& comm, CollectiveBody body, Request* handle,
                     const CollectiveSignature& signature) {
  int tag;
  MPI_TRY(next_tag(comm, signature, &tag));
  RequestObject* request = new_collective_request(comm);
  *handle = this_rank().requests.add(request);
  launch(*request, body, tag);
  return MPI_SUCCESS;
}

int prepare_collective(CommObject& comm, CollectiveBody body, Request* handle,
                       const CollectiveSignature& signature) {
  // All ranks make these requests in one order but may start them in any (MPI 4.1, section 6.13):
  // the tag belongs to the request.
  int tag;
  MPI_TRY(next_tag(comm, signature, &tag));
  RequestObject* request = new_collective_request(comm);
  request->persistent = true;
  request->active = false;
  request->extra = std::make_unique<RequestExtra>();
  request->extra->start_collective = [body = std::move(body), tag](RequestObject& started) {
    launch(started, body, tag);
  };
  *handle = this_rank().requests.add(request);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
