// The small collectives by which ranks agree on a new communicator. They are made of simulated
// messages and take simulated time as in a real MPI: recursive doubling for the maximum,
// dissemination (Bruck's algorithm) for gathering to all, a binomial tree for broadcasts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/mpi/messages/transfer.h"
#include "core/mpi/objects/shared_list.h"

namespace sesame::mpi {

struct Rank;

// The ranks that take part: all of a communicator, or some of them. Integers only.
class ControlGroup {
 public:
  // All ranks of an intra-communicator. The Transfer must outlive the ControlGroup.
  explicit ControlGroup(Transfer& transfer);
  // These members of the communicator, in this order; the caller is number `me` among them.
  ControlGroup(Transfer& transfer, MembersRef members, int me);

  int size() const { return size_; }
  int me() const { return me_; }

  // Every value becomes the greatest one that any rank brought.
  void maximum(std::span<int> values);
  // What all ranks brought, in order; everyone brings as many values. Once in a collective, for all
  // ranks of the communicator.
  SharedListRef gather_to_all(std::span<const int> mine);
  // Everyone gets the root's values, however many there are.
  void broadcast(std::vector<int>& values, int root);
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

  Transfer& transfer_;
  MembersRef members_;  // null: all
  int size_;
  int me_;
  const DatatypeObject& int_type_;
};

// Two ranks tell each other lists of values.
std::vector<int> exchange_lists(Transfer& transfer, const std::vector<int>& mine, int peer);

// The two sides of an inter-communicator: every rank gets what the leader (rank 0) of the other
// side brought. `mine` counts on leaders only.
SharedListRef exchange_between_groups(Transfer& inter, const std::vector<int>& mine);
// The maximum over both groups.
void maximum_of_both_groups(Transfer& inter, std::span<int> values);

// What tells an agreement from others that may be under way on the same ranks at the same time.
// All ranks that take part must say the same.
struct AgreementKind {
  bool concurrent = false;  // non-blocking: the rank may begin others meanwhile
  uint64_t identity = 0;
};

// Finds `count` matching contexts in a row that all ranks of the new communicator have free, and
// takes them: the greatest proposal of all. `maximum` is over everyone who takes part. When others
// may be under way, a second round makes sure that nobody has given the proposal away meanwhile;
// proposals of different agreements then differ, so that the greatest always goes through.
uint32_t agree_on_context(Rank& rank, uint32_t count, AgreementKind kind,
                          const std::function<void(std::span<int>)>& maximum);

}  // namespace sesame::mpi
