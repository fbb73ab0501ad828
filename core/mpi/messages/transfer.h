// Point-to-point messages for the inside of collectives: like MPI's own, on the communicator's
// collective context with the collective's sequence number as tag, without argument checks. The
// same algorithm serves the blocking, non-blocking and persistent forms: a non-blocking collective
// runs on a fiber (strand) of its own with a clock of its own, so that it progresses while the
// rank computes.
#pragma once

#include <functional>
#include <span>

#include "core/mpi/messages/collective_log.h"
#include "core/mpi/messages/request.h"
#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/datatype.h"

namespace sesame::mpi {

class Transfer {
 public:
  // Peers are ranks of the remote group in an inter-communicator; use local() for the own group.
  Transfer(CommObject& comm, int tag) : comm_(comm), tag_(tag) {}

  CommObject& comm() const { return comm_; }
  int tag() const { return tag_; }
  int rank() const { return comm_.rank; }
  int size() const { return comm_.size(); }
  int remote_size() const { return comm_.remote_size(); }

  // A Transfer over the local group's own communicator (inter-communicators only).
  Transfer local() const { return Transfer(*comm_.local_comm, tag_); }

  void send(const void* buffer, Count count, const DatatypeObject& type, int to);
  void receive(void* buffer, Count count, const DatatypeObject& type, int from);
  void send_receive(const void* send_buffer, Count send_count, const DatatypeObject& send_type,
                    int to, void* receive_buffer, Count receive_count,
                    const DatatypeObject& receive_type, int from);

  // Messages whose data the ranks share in the simulator anyway: they take the time of `count`
  // elements and move nothing. The other side must use the same calls.
  void send_length(Count count, const DatatypeObject& type, int to);
  void receive_length(Count count, const DatatypeObject& type, int from);
  void send_receive_length(Count count, const DatatypeObject& type, int to, int from);

  // The rank copies `bytes` of its own: takes the time of Network::copy_time.
  void take_copy_time(Count bytes);

  // Non-blocking; the request must stay where it is until wait_all() has returned. Peers may be
  // MPI_PROC_NULL.
  void start_send(RequestObject& request, const void* buffer, Count count,
                  const DatatypeObject& type, int to);
  void start_receive(RequestObject& request, void* buffer, Count count, const DatatypeObject& type,
                     int from);
  void wait_all(std::span<RequestObject> requests);

  // The first error that a message of this collective met (truncation), or MPI_SUCCESS.
  int error() const { return error_; }

 private:
  void start(RequestObject& request, RequestObject::Kind kind, const void* buffer, Count count,
             const DatatypeObject& type, int peer, bool carries_data);
  void note(const RequestObject& request);

  CommObject& comm_;
  int tag_;
  int error_ = MPI_SUCCESS;
};

// The body of a collective on one rank; returns an MPI error class. It must own what it needs
// (captured by value), since non-blocking forms run it after the call has returned.
using CollectiveBody = std::function<int(Transfer&)>;

// MPI_X: runs the body at once. An error, as of the two below, if the signature is not that of the
// other ranks.
int run_collective(CommObject& comm, const CollectiveBody& body,
                   const CollectiveSignature& signature = {});
// MPI_IX: runs the body on its own strand and gives the request.
int start_collective(CommObject& comm, CollectiveBody body, Request* request,
                     const CollectiveSignature& signature = {});
// MPI_X_init: gives an inactive persistent request.
int prepare_collective(CommObject& comm, CollectiveBody body, Request* request,
                       const CollectiveSignature& signature = {});

}  // namespace sesame::mpi
