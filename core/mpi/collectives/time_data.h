// For tests of the time of collectives. On the test crossbar a message of m bytes takes T(m) = 2 us
// + m * 1 ns from the send to the end of the receive, a rank injects messages max(0.3 us, m * 1 ns)
// apart, and completing a receive takes 0.4 us.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "core/mpi/collectives/test_data.h"

namespace sesame::mpi::testing {

inline const Comm kWorld = MPI_COMM_WORLD;
inline constexpr double kLatency = 2000;  // ns
inline constexpr double kReceiveOverhead = 400;
inline double message(double bytes) { return kLatency + bytes; }
inline double apart(double bytes) { return std::max(300.0, bytes); }
inline int log2_ceil(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
}
inline int log2_floor(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks))) - 1;
}

// When the last rank leaves the collective, which all enter at time 0.
inline double measured_ns(int ranks, const std::function<void(int rank)>& call,
                          const std::string& network = kCrossbar) {
  SimulatedJob job(ranks, network);
  return static_cast<double>(job.run(call).ps()) / 1000;
}

// The same with Open MPI's algorithms.
inline double open_mpi_ns(int ranks, const std::function<void(int rank)>& call) {
  SimulatedJob job(ranks);
  job.world().open_mpi_collectives = true;
  return static_cast<double>(job.run(call).ps()) / 1000;
}

inline std::vector<char> bytes_of(Count bytes) {
  return std::vector<char>(static_cast<size_t>(bytes));
}

inline void expect_time(double measured, double expected, const std::string& what) {
  EXPECT_NEAR(measured, expected, 0.01 * expected) << what;
}

inline std::string describe(int ranks, Count bytes) {
  return std::to_string(ranks) + " ranks, " + std::to_string(bytes) + " bytes";
}

}  // namespace sesame::mpi::testing
