// Messages inside collectives, and the three forms in which a collective is called. The messages
// are like the program's own, but use the communicator's collective context, the collective's
// sequence number as tag, and no checks of arguments.
//
// Use: write the algorithm of a collective as a function of a Transfer (CollectiveBody) and pass it
// to run_collective(), start_collective() or prepare_collective(). A non-blocking collective runs
// on a helper strand with its own clock, so that it progresses while the rank computes.
//
// A Transfer refers to its communicator, which must outlive it: that of a handle (check_comm() in
// arguments.h), or this_rank().objects.world. Counts are elements of the type. Errors of messages
// are kept in error(). All functions work on the running strand and advance its clock. One thread.
#pragma once

#include <functional>
#include <span>

#include "core/mpi/messages/collective_log.h"
#include "core/mpi/messages/request.h"
#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/datatype.h"

namespace sesame::mpi {

struct NodeGroups;

class Transfer {
 public:
  // Peers are ranks in the communicator; of the remote group in an inter-communicator.
  Transfer(CommObject& comm, int tag, bool is_blocking = true)
      : comm_(comm), tag_(tag), is_blocking_(is_blocking) {}

  CommObject& comm() const { return comm_; }
  int tag() const { return tag_; }
  int rank() const { return is_part() ? place_ : comm_.rank; }
  int size() const { return is_part() ? static_cast<int>(ranks_.size()) : comm_.size(); }
  int remote_size() const { return comm_.remote_size(); }
  // Whether the collective was called in its blocking form: MPI_X, not MPI_IX or MPI_X_init.
  bool is_blocking() const { return is_blocking_; }

  // A Transfer inside the local group (inter-communicators only).
  Transfer local() const { return Transfer(*comm_.local_comm, tag_, is_blocking_); }

  // A Transfer among some ranks of this one, of which this rank is number `place`: there rank() and
  // peers are places in `ranks`, which must outlive it. Intra-communicators only.
  Transfer among(std::span<const int> ranks, int place) const;
  bool is_part() const { return !ranks_.empty(); }
  // The ranks by node. Valid as long as the communicator.
  const NodeGroups& nodes() const;
  // Whether the ranks are on several nodes, and some of them on one. False in a part.
  bool has_two_levels() const;

  // To be called first in a collective that ranks leave only when all have entered it, or nearly
  // so. Where many ranks take part, lets the others enter, then continues in the order of ranks, in
  // which algorithms send to neighbours first: they find each other's memory in the cache.
  void begin_together();
  // To be called before each step of such a collective in which ranks send to ranks `distance`
  // away, a power of two that grows from step to step. Every few steps the ranks line up again:
  // those that are to exchange messages follow each other.
  void begin_step(int distance);

  void send(const void* buffer, Count count, const DatatypeObject& type, int to);
  void receive(void* buffer, Count count, const DatatypeObject& type, int from);
  void send_receive(const void* send_buffer, Count send_count, const DatatypeObject& send_type,
                    int to, void* receive_buffer, Count receive_count,
                    const DatatypeObject& receive_type, int from);

  // Messages that take the time of `count` elements but copy no data, for lists that the ranks
  // share in the simulator. The peer must call the same functions.
  void send_length(Count count, const DatatypeObject& type, int to);
  void receive_length(Count count, const DatatypeObject& type, int from);
  void send_receive_length(Count count, const DatatypeObject& type, int to, int from);

  // Charges the rank the time to copy `bytes` bytes in its memory (Network::copy_time).
  void charge_copy_time(Count bytes);
  // The time to gather so many blocks for a message, and to distribute those of another.
  void charge_packing_time(int blocks);

  // Non-blocking; the request must not move before wait_all() has returned. The peer may be
  // MPI_PROC_NULL.
  void start_send(RequestObject& request, const void* buffer, Count count,
                  const DatatypeObject& type, int to);
  void start_receive(RequestObject& request, void* buffer, Count count, const DatatypeObject& type,
                     int from);
  void wait_all(std::span<RequestObject> requests);

  // The first error of a message of this collective (truncation), or MPI_SUCCESS.
  int error() const { return error_; }
  // Takes over the error of a part, unless there is one already.
  void note_error(int error) {
    if (error_ == MPI_SUCCESS) error_ = error;
  }

 private:
  bool lines_up() const;
  void line_up(int place) const;
  void start(RequestObject& request, RequestObject::Kind kind, const void* buffer, Count count,
             const DatatypeObject& type, int peer, bool carries_data);
  void record_outcome(const RequestObject& request);

  CommObject& comm_;
  int tag_;
  bool is_blocking_;
  std::span<const int> ranks_;  // of a part, else empty
  int place_ = 0;
  int error_ = MPI_SUCCESS;
};

// The algorithm of a collective on one rank. Returns MPI_SUCCESS or its own MPI error class; it
// need not return Transfer::error(), which the collective fails with if the body succeeds. It must
// own what it uses (captured by value), since non-blocking forms run it after the call has
// returned.
using CollectiveBody = std::function<int(Transfer&)>;

// MPI_X: runs the body on the running strand. This and the two below return an error if the
// signature does not agree with that of the other ranks (collective_log.h).
int run_collective(CommObject& comm, const CollectiveBody& body,
                   const CollectiveSignature& signature = {});
// MPI_IX: starts the body on a helper strand; *request is the new request's handle.
int start_collective(CommObject& comm, CollectiveBody body, Request* request,
                     const CollectiveSignature& signature = {});
// MPI_X_init: *request is the handle of a new inactive persistent request.
int prepare_collective(CommObject& comm, CollectiveBody body, Request* request,
                       const CollectiveSignature& signature = {});

// Charges the running rank the time to combine two vectors of `bytes` bytes each in a reduction
// (Network::reduction_time).
void charge_reduction_time(Count bytes);

}  // namespace sesame::mpi
