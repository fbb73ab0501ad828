// The small internal collectives by which ranks agree on a new communicator. They use simulated
// messages and take simulated time as in a real MPI: recursive doubling for the maximum,
// dissemination (Bruck's algorithm) for the allgather, a binomial tree for broadcasts.
//
// Use: make a ControlGroup of a Transfer (the ranks of a communicator or some of them) on each rank
// and call the same functions on all of them; agree_on_context() gives the context of a new
// communicator. All functions block the running strand. Errors (truncation) are in
// Transfer::error(). One thread. For instance, two new contexts for the ranks of a communicator:
//
//   CommObject& comm = *find_comm(rank, MPI_COMM_WORLD);  // arguments.h
//   Transfer transfer(comm, tag);  // a tag of the collective that calls this
//   ControlGroup group(transfer);
//   agree_on_context(rank, 2, {}, [&](auto values) { group.maximum(values); });
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/mpi/messages/transfer.h"
#include "core/mpi/objects/shared_list.h"

namespace sesame::mpi {

struct Rank;

// Collectives on integers among all ranks of a communicator or some of them.
class ControlGroup {
 public:
  // All ranks of an intra-communicator. The Transfer must outlive the object.
  explicit ControlGroup(Transfer& transfer);
  // These members of the communicator, numbered in this order; the caller has the number `me`.
  ControlGroup(Transfer& transfer, MembersRef members, int me);

  int size() const { return size_; }
  int me() const { return me_; }

  // Replaces each value by the maximum over all ranks.
  void maximum(std::span<int> values);
  // Allgather: the values of all ranks in order (SharedList::values, shared_list.h); all pass the
  // same number of values. The ranks share the list and must not change it. Call it once in a
  // collective at most: the list is found by context, tag and first rank, so a second call would
  // find the list of the first.
  SharedListRef gather_to_all(std::span<const int> mine);
  // Broadcasts the root's values. The other ranks need not know how many there are.
  void broadcast(std::vector<int>& values, int root);
  // The same, but all ranks share one list.
  SharedListRef broadcast_shared(std::vector<int> values, int root);

 private:
  // The rank in the communicator.
  int peer(int number) const;
  // Calls `receive` and `send` with the caller's parent and children in the tree from the root.
  template <typename Receive, typename Send>
  void follow_tree(int root, Receive receive, Send send);
  void send(std::span<const int> values, int to);
  void receive(std::span<int> values, int from);
  void broadcast_fixed(std::span<int> values, int root);
  SharedListRef gather_copies(std::span<const int> mine);
  SharedListRef broadcast_copies(std::vector<int> values, int root);

  Transfer& transfer_;
  MembersRef members_;  // null: all
  int size_;
  int me_;
  const DatatypeObject& int_type_;
};

// Exchanges lists of values, of any length, with another rank. Returns the peer's list.
std::vector<int> exchange_lists(Transfer& transfer, const std::vector<int>& mine, int peer);

// In an inter-communicator: returns the list of the leader (rank 0) of the other group, on all
// ranks. `mine` is used on leaders only.
SharedListRef exchange_between_groups(Transfer& inter, const std::vector<int>& mine);
// Replaces each value by the maximum over both groups of an inter-communicator.
void maximum_of_both_groups(Transfer& inter, std::span<int> values);

// Tells apart agreements that are in progress on the same ranks at the same time. All ranks of an
// agreement must pass the same values.
struct AgreementKind {
  bool concurrent = false;  // non-blocking: the rank may start others meanwhile
  uint64_t identity = 0;    // different for each concurrent agreement of a rank
};

// Allocates `count` consecutive contexts that are free on all ranks of the new communicator, and
// returns the first. `maximum` replaces values by their maximum over these ranks.
//
// Each rank proposes its next free context; the maximum is free on all of them. If a rank has other
// agreements in progress, one of those may allocate the same contexts meanwhile. A second round
// then checks whether this has happened on any rank; if so, all ranks try again. Concurrent
// agreements propose numbers from different series (by `identity` and attempt), so that they do not
// always collide. The agreement with the greatest proposal always succeeds.
uint32_t agree_on_context(Rank& rank, uint32_t count, AgreementKind kind,
                          const std::function<void(std::span<int>)>& maximum);

}  // namespace sesame::mpi
