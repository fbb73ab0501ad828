// MPI_Probe and its relatives, and receives of matched messages (MPI 4.1, section 3.8).
#include "core/mpi/api.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/messaging.h"
#include "core/mpi/messages/polling.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/objects/datatype_predefined.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

void set_message_status(const QueuedMessage& message, Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  const int error = status->MPI_ERROR;
  *status = Status{0, 0, message.source, message.tag, error};
  status->set_byte_count(static_cast<Count>(message.bytes));
}

void set_no_process_status(Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  const int error = status->MPI_ERROR;
  *status = Status{0, 0, MPI_PROC_NULL, MPI_ANY_TAG, error};
}

int check_selector(int source, int tag, Comm handle, CommObject** comm) {
  MPI_TRY(check_comm(handle, comm));
  return check_peer(**comm, source, tag, Direction::kReceive);
}

QueuedMessage* wait_for_message(Strand& strand, CommObject& comm, int source, int tag) {
  RequestObject probed;  // explains a deadlock
  describe_operation(probed, RequestObject::Kind::kReceive, nullptr, 0,
                     *predefined_object(MPI_BYTE), source, tag, comm);
  strand.waiting_request = &probed;
  QueuedMessage* message = strand.rank->matching.wait_for({comm.context, source, tag, &comm});
  strand.waiting_request = nullptr;
  strand.waited += strand.wait_until(message->arrival);
  return message;
}

// The message if one has arrived by now; otherwise charges a poll and returns null.
QueuedMessage* poll_for_message(Strand& strand, const Selector& selector) {
  Matching& matching = strand.rank->matching;
  // If the selector names the source, a queued message stays the first that it accepts, so the
  // strand need not yield.
  QueuedMessage* message =
      selector.source == MPI_ANY_SOURCE ? nullptr : matching.find(selector, strand.now);
  if (message == nullptr) {
    yield_until_now(strand);
    message = matching.find(selector, strand.now);
  }
  if (message != nullptr) {
    strand.idle_polls = 0;
    return message;
  }
  const SimTime latest = charge_idle_poll(strand);
  if (latest > strand.now) {
    strand.waited += strand.wait_until(matching.sleep_until_arrival(selector, latest));
  }
  return nullptr;
}

int check_message(Message handle, QueuedMessage** message) {
  MatchedMessage* holder = this_rank().messages.find(handle);
  if (holder == nullptr) return fail(MPI_ERR_REQUEST, "no such message handle");
  *message = holder->message;
  return MPI_SUCCESS;
}

Message add_matched_message(Strand& strand, QueuedMessage* message, CommObject& comm) {
  strand.rank->matching.unlink(message);
  if (message->sender() != nullptr) message->sender()->queued = nullptr;  // cannot be cancelled
  auto* holder = new MatchedMessage;
  holder->message = message;
  holder->comm = &comm;
  retain(&comm);
  return strand.rank->messages.add(holder);
}

// Describes the receive of a matched message and frees the message's handle. The request holds the
// communicator: the handle may have had the last reference.
int take_matched(RequestObject& request, void* buffer, Count count, Datatype datatype,
                 Message* handle, QueuedMessage** message) {
  const DatatypeObject* type = nullptr;
  MPI_TRY(check_message_buffer(buffer, count, datatype, &type));
  MPI_TRY(check_message(*handle, message));
  Rank& rank = this_rank();
  MatchedMessage* holder = rank.messages.remove(*handle);
  describe_operation(request, RequestObject::Kind::kReceive, buffer, count, *type,
                     (*message)->source, (*message)->tag, *holder->comm);
  request.hold_objects();
  release(holder);
  *handle = MPI_MESSAGE_NULL;
  rank.call_peer = (*message)->source_world;
  rank.call_bytes = (*message)->bytes;
  return MPI_SUCCESS;
}

}  // namespace

int Probe(int source, int tag, Comm handle, Status* status) {
  CommObject* comm = nullptr;
  MPI_TRY(check_selector(source, tag, handle, &comm));
  if (source == MPI_PROC_NULL) {
    set_no_process_status(status);
    return MPI_SUCCESS;
  }
  set_message_status(*wait_for_message(self(), *comm, source, tag), status);
  return MPI_SUCCESS;
}

int Iprobe(int source, int tag, Comm handle, int* flag, Status* status) {
  CommObject* comm = nullptr;
  MPI_TRY(check_selector(source, tag, handle, &comm));
  *flag = 1;
  if (source == MPI_PROC_NULL) {
    set_no_process_status(status);
    return MPI_SUCCESS;
  }
  const QueuedMessage* message = poll_for_message(self(), {comm->context, source, tag, comm});
  *flag = message != nullptr ? 1 : 0;
  if (message != nullptr) set_message_status(*message, status);
  return MPI_SUCCESS;
}

int Mprobe(int source, int tag, Comm handle, Message* message_handle, Status* status) {
  CommObject* comm = nullptr;
  MPI_TRY(check_selector(source, tag, handle, &comm));
  if (source == MPI_PROC_NULL) {
    set_no_process_status(status);
    *message_handle = MPI_MESSAGE_NO_PROC;
    return MPI_SUCCESS;
  }
  Strand& strand = self();
  QueuedMessage* message = wait_for_message(strand, *comm, source, tag);
  set_message_status(*message, status);
  *message_handle = add_matched_message(strand, message, *comm);
  return MPI_SUCCESS;
}

int Improbe(int source, int tag, Comm handle, int* flag, Message* message_handle, Status* status) {
  CommObject* comm = nullptr;
  MPI_TRY(check_selector(source, tag, handle, &comm));
  *flag = 1;
  if (source == MPI_PROC_NULL) {
    set_no_process_status(status);
    *message_handle = MPI_MESSAGE_NO_PROC;
    return MPI_SUCCESS;
  }
  Strand& strand = self();
  QueuedMessage* message = poll_for_message(strand, {comm->context, source, tag, comm});
  *flag = message != nullptr ? 1 : 0;
  if (message == nullptr) {
    *message_handle = MPI_MESSAGE_NULL;
    return MPI_SUCCESS;
  }
  set_message_status(*message, status);
  *message_handle = add_matched_message(strand, message, *comm);
  return MPI_SUCCESS;
}

int Mrecv(void* buf, Count count, Datatype datatype, Message* handle, Status* status) {
  if (*handle == MPI_MESSAGE_NO_PROC) {
    set_no_process_status(status);
    *handle = MPI_MESSAGE_NULL;
    return MPI_SUCCESS;
  }
  RequestObject request;
  QueuedMessage* message = nullptr;
  MPI_TRY(take_matched(request, buf, count, datatype, handle, &message));
  Strand& strand = self();
  receive_matched(strand, request, message);
  await(strand, request);
  if (status != MPI_STATUS_IGNORE) {
    request.status.MPI_ERROR = status->MPI_ERROR;
    *status = request.status;
  }
  return request.error;
}

int Imrecv(void* buf, Count count, Datatype datatype, Message* handle, Request* out) {
  auto request = std::make_unique<RequestObject>();
  Strand& strand = self();
  if (*handle == MPI_MESSAGE_NO_PROC) {
    request->kind = RequestObject::Kind::kReceive;
    request->status = Status{0, 0, MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS};
    *handle = MPI_MESSAGE_NULL;
    complete(*request, strand.now);
  } else {
    QueuedMessage* message = nullptr;
    MPI_TRY(take_matched(*request, buf, count, datatype, handle, &message));
    receive_matched(strand, *request, message);
  }
  *out = strand.rank->requests.add(request.get());
  request.release();
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
