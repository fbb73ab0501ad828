// The steps of the allgather algorithms that exchange with the two neighbours in turn, for an even
// number of ranks: after the first one, which makes pairs of an even rank and the next one, each
// passes on the pair of blocks that came in the step before.
#pragma once

namespace sesame::mpi::collectives {

// Calls exchange(peer, sent, received) for each step: the first of the two blocks to send and of
// those to receive. The blocks of a pair begin with that of its even rank.
template <typename Exchange>
void for_neighbor_steps(int rank, int size, const Exchange& exchange) {
  const bool is_even = rank % 2 == 0;
  const int pair = is_even ? rank : rank - 1;
  const int right = (rank + 1) % size;
  const int left = (rank - 1 + size) % size;
  int sent = pair;
  int from_left = pair;  // what came from there last
  int from_right = pair;
  for (int step = 1; step < size / 2; ++step) {
    const bool goes_left = is_even == (step % 2 == 1);
    int& received = goes_left ? from_left : from_right;
    received = goes_left ? (received - 2 + size) % size : (received + 2) % size;
    exchange(goes_left ? left : right, sent, received);
    sent = received;
  }
}

}  // namespace sesame::mpi::collectives
