// MPI_Send, MPI_Recv and their relatives (MPI 4.1, chapter 3), blocking and non-blocking.
#include "core/mpi/api.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/buffered.h"
#include "core/mpi/messages/messaging.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

using Kind = RequestObject::Kind;
using Mode = RequestObject::Mode;

void record_call(Rank& rank, const Operation& operation) {
  rank.call_bytes += static_cast<uint64_t>(operation.bytes());
  rank.call_peer = operation.peer >= 0 ? (*operation.comm->remote)[operation.peer] : -1;
  rank.call_tag = operation.tag;
  rank.call_context = operation.context;
}

// All checks are inlined: each message calls this.
[[gnu::flatten]] int describe_checked(Operation& operation, Kind kind, const void* buffer,
                                      Count count, Datatype datatype, int peer, int tag,
                                      Comm comm_handle) {
  CommObject* comm = nullptr;
  const DatatypeObject* type = nullptr;
  MPI_TRY(check_comm(comm_handle, &comm));
  MPI_TRY(check_message_buffer(buffer, count, datatype, &type));
  MPI_TRY(
      check_peer(*comm, peer, tag, kind == Kind::kSend ? Direction::kSend : Direction::kReceive));
  describe_operation(operation, kind, const_cast<void*>(buffer), count, *type, peer, tag, *comm);
  record_call(*self().rank, operation);
  return MPI_SUCCESS;
}

void set_status(const RequestObject& request, Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  const int error = status->MPI_ERROR;  // calls that complete one request do not set the field
  *status = request.status;
  status->MPI_ERROR = error;
}

int send(Mode mode, const void* buffer, Count count, Datatype datatype, int dest, int tag,
         Comm comm) {
  Operation operation;
  MPI_TRY(describe_checked(operation, Kind::kSend, buffer, count, datatype, dest, tag, comm));
  operation.mode = mode;
  Strand& strand = self();
  const Route route = route_of(strand, operation);
  if (mode != Mode::kBuffered && completes_on_post(route, operation)) {
    post_complete_send(strand, operation, route);
    return MPI_SUCCESS;
  }
  RequestObject request(operation);
  if (mode == Mode::kBuffered) {
    MPI_TRY(reserve_buffer(request, strand.rank->attached_buffer.get()));
  }
  post_send(strand, request, route);
  await(strand, request);
  return request.error;
}

// Makes a request for which the program will get a handle.
int new_request(Kind kind, Mode mode, const void* buffer, Count count, Datatype datatype, int peer,
                int tag, Comm comm, RequestObject** out) {
  auto request = std::make_unique<RequestObject>();
  MPI_TRY(describe_checked(*request, kind, buffer, count, datatype, peer, tag, comm));
  request->mode = mode;
  request->hold_objects();
  *out = request.release();
  return MPI_SUCCESS;
}

void publish(RequestObject* request, Request* handle) {
  *handle = this_rank().requests.add(request);
}

int start_send(Mode mode, const void* buffer, Count count, Datatype datatype, int dest, int tag,
               Comm comm, Request* handle) {
  Operation operation;
  MPI_TRY(describe_checked(operation, Kind::kSend, buffer, count, datatype, dest, tag, comm));
  operation.mode = mode;
  Strand& strand = self();
  const Route route = route_of(strand, operation);
  if (mode == Mode::kBuffered) {
    RequestObject request(operation);
    MPI_TRY(reserve_buffer(request, strand.rank->attached_buffer.get()));
    post_send(strand, request, route);
    *handle = kSentRequest;
  } else if (completes_on_post(route, operation)) {
    post_complete_send(strand, operation, route);
    *handle = kSentRequest;
  } else {
    auto* request = new RequestObject(operation);
    request->hold_objects();
    publish(request, handle);
    post_send(strand, *request, route);
  }
  return MPI_SUCCESS;
}

int prepare(Kind kind, Mode mode, const void* buffer, Count count, Datatype datatype, int peer,
            int tag, Comm comm, Request* handle) {
  RequestObject* request = nullptr;
  MPI_TRY(new_request(kind, mode, buffer, count, datatype, peer, tag, comm, &request));
  request->persistent = true;
  request->active = false;
  publish(request, handle);
  return MPI_SUCCESS;
}

}  // namespace

int Send(const void* buf, Count count, Datatype datatype, int dest, int tag, Comm comm) {
  return send(Mode::kStandard, buf, count, datatype, dest, tag, comm);
}
int Ssend(const void* buf, Count count, Datatype datatype, int dest, int tag, Comm comm) {
  return send(Mode::kSynchronous, buf, count, datatype, dest, tag, comm);
}
int Rsend(const void* buf, Count count, Datatype datatype, int dest, int tag, Comm comm) {
  return send(Mode::kReady, buf, count, datatype, dest, tag, comm);
}
int Bsend(const void* buf, Count count, Datatype datatype, int dest, int tag, Comm comm) {
  return send(Mode::kBuffered, buf, count, datatype, dest, tag, comm);
}

int Recv(void* buf, Count count, Datatype datatype, int source, int tag, Comm comm,
         Status* status) {
  RequestObject request;
  MPI_TRY(describe_checked(request, Kind::kReceive, buf, count, datatype, source, tag, comm));
  Strand& strand = self();
  post_receive(strand, request);
  await(strand, request);
  set_status(request, status);
  return request.error;
}

int Isend(const void* buf, Count count, Datatype datatype, int dest, int tag, Comm comm,
          Request* request) {
  return start_send(Mode::kStandard, buf, count, datatype, dest, tag, comm, request);
}
int Issend(const void* buf, Count count, Datatype datatype, int dest, int tag, Comm comm,
           Request* request) {
  return start_send(Mode::kSynchronous, buf, count, datatype, dest, tag, comm, request);
}
int Irsend(const void* buf, Count count, Datatype datatype, int dest, int tag, Comm comm,
           Request* request) {
  return start_send(Mode::kReady, buf, count, datatype, dest, tag, comm, request);
}
int Ibsend(const void* buf, Count count, Datatype datatype, int dest, int tag, Comm comm,
           Request* request) {
  return start_send(Mode::kBuffered, buf, count, datatype, dest, tag, comm, request);
}
int Irecv(void* buf, Count count, Datatype datatype, int source, int tag, Comm comm,
          Request* request) {
  RequestObject* receive = nullptr;
  MPI_TRY(new_request(Kind::kReceive, Mode::kStandard, buf, count, datatype, source, tag, comm,
                      &receive));
  publish(receive, request);
  post_cancellable_receive(self(), *receive);
  return MPI_SUCCESS;
}

int Send_init(const void* buf, Count count, Datatype datatype, int dest, int tag, Comm comm,
              Request* request) {
  return prepare(Kind::kSend, Mode::kStandard, buf, count, datatype, dest, tag, comm, request);
}
int Ssend_init(const void* buf, Count count, Datatype datatype, int dest, int tag, Comm comm,
               Request* request) {
  return prepare(Kind::kSend, Mode::kSynchronous, buf, count, datatype, dest, tag, comm, request);
}
int Rsend_init(const void* buf, Count count, Datatype datatype, int dest, int tag, Comm comm,
               Request* request) {
  return prepare(Kind::kSend, Mode::kReady, buf, count, datatype, dest, tag, comm, request);
}
int Bsend_init(const void* buf, Count count, Datatype datatype, int dest, int tag, Comm comm,
               Request* request) {
  return prepare(Kind::kSend, Mode::kBuffered, buf, count, datatype, dest, tag, comm, request);
}
int Recv_init(void* buf, Count count, Datatype datatype, int source, int tag, Comm comm,
              Request* request) {
  return prepare(Kind::kReceive, Mode::kStandard, buf, count, datatype, source, tag, comm, request);
}

int Sendrecv(const void* sendbuf, Count sendcount, Datatype sendtype, int dest, int sendtag,
             void* recvbuf, Count recvcount, Datatype recvtype, int source, int recvtag, Comm comm,
             Status* status) {
  RequestObject send;
  RequestObject receive;
  MPI_TRY(describe_checked(receive, Kind::kReceive, recvbuf, recvcount, recvtype, source, recvtag,
                           comm));
  MPI_TRY(describe_checked(send, Kind::kSend, sendbuf, sendcount, sendtype, dest, sendtag, comm));
  Strand& strand = self();
  post_receive(strand, receive);
  post_send(strand, send);
  RequestObject* both[] = {&receive, &send};
  await_all(strand, both);
  set_status(receive, status);
  return receive.error;
}

int Sendrecv_replace(void* buf, Count count, Datatype datatype, int dest, int sendtag, int source,
                     int recvtag, Comm comm, Status* status) {
  const DatatypeObject* type = nullptr;
  MPI_TRY(check_message_buffer(buf, count, datatype, &type));
  const ReplacedBuffer copy(buf, count, *type);
  return Sendrecv(copy.data(), copy.size(), MPI_PACKED, dest, sendtag, buf, count, datatype, source,
                  recvtag, comm, status);
}

namespace {

// MPI_Isendrecv: a send and a receive with one request. The call posts both, so that they match in
// the order of calls; a helper strand waits for them.
struct SendReceivePair {
  RequestObject send;
  RequestObject receive;
  std::unique_ptr<ReplacedBuffer> replaced;
};

void start_pair(std::shared_ptr<SendReceivePair> pair, Request* handle) {
  pair->send.hold_objects();
  pair->receive.hold_objects();
  auto* request = new RequestObject;
  request->kind = Kind::kCollective;
  request->comm = pair->receive.comm;
  request->hold_objects();
  publish(request, handle);
  Strand& strand = self();
  post_receive(strand, pair->receive);
  post_send(strand, pair->send);
  strand.rank->world.start_strand(*strand.rank, strand.now, [pair, request] {
    RequestObject* both[] = {&pair->receive, &pair->send};
    await_all(self(), both);
    request->status = pair->receive.status;
    request->error = pair->receive.error;
    complete(*request, self().now);
  });
}

}  // namespace

int Isendrecv(const void* sendbuf, Count sendcount, Datatype sendtype, int dest, int sendtag,
              void* recvbuf, Count recvcount, Datatype recvtype, int source, int recvtag, Comm comm,
              Request* request) {
  auto pair = std::make_shared<SendReceivePair>();
  MPI_TRY(describe_checked(pair->receive, Kind::kReceive, recvbuf, recvcount, recvtype, source,
                           recvtag, comm));
  MPI_TRY(
      describe_checked(pair->send, Kind::kSend, sendbuf, sendcount, sendtype, dest, sendtag, comm));
  start_pair(std::move(pair), request);
  return MPI_SUCCESS;
}

int Isendrecv_replace(void* buf, Count count, Datatype datatype, int dest, int sendtag, int source,
                      int recvtag, Comm comm, Request* request) {
  const DatatypeObject* type = nullptr;
  MPI_TRY(check_message_buffer(buf, count, datatype, &type));
  auto pair = std::make_shared<SendReceivePair>();
  pair->replaced = std::make_unique<ReplacedBuffer>(buf, count, *type);
  MPI_TRY(
      describe_checked(pair->receive, Kind::kReceive, buf, count, datatype, source, recvtag, comm));
  MPI_TRY(describe_checked(pair->send, Kind::kSend, pair->replaced->data(), pair->replaced->size(),
                           MPI_PACKED, dest, sendtag, comm));
  start_pair(std::move(pair), request);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
