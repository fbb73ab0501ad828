#include "npb/ft/spectrum.h"

#include <algorithm>

#include "kit/ranks.h"

namespace sesame::workload {
namespace {

Spectrum::Share share_of(int points, int ranks, int rank) {
  return {points / ranks * rank, points / ranks};
}

}  // namespace

Spectrum::Spectrum(std::array<int, 3> points, Phases& phases)
    : phases_(phases),
      transform_phase_(phases.add("transform lines")),
      exchange_phase_(phases.add("exchange")) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto [nx, ny, nz] = points;
  const int exponent = require_power_of_two("ft", ranks);
  const int most_z = std::min(ny, nz), most_x = std::min(nx, ny);
  require_at_most("ft", ranks, static_cast<long>(most_x) * most_z, "a line for each");
  const int balanced = 1 << (exponent - exponent / 2);
  z_ranks_ = ranks <= most_z ? ranks : std::clamp(balanced, ranks / most_x, most_z);
  x_ranks_ = ranks / z_ranks_;
  const int x_rank = rank % x_ranks_, z_rank = rank / x_ranks_;
  MPI_Comm_split(MPI_COMM_WORLD, z_rank, x_rank, &x_comm_);
  MPI_Comm_split(MPI_COMM_WORLD, x_rank, z_rank, &z_comm_);
  space_ = {Share{0, nx}, share_of(ny, x_ranks_, x_rank), share_of(nz, z_ranks_, z_rank)};
  spectrum_ = {share_of(nx, x_ranks_, x_rank), share_of(ny, z_ranks_, z_rank), Share{0, nz}};
  local_size_ = static_cast<long>(nx) * space_[1].size * space_[2].size;
  const long x = spectrum_[0].size, z = space_[2].size;
  xy_ = {Cut{z * space_[1].size, nx, 1}, Cut{z, ny, x}};
  yz_ = {Cut{z, ny, x}, Cut{1, nz, spectrum_[1].size * x}};
  for (int length : points) lines_.emplace_back(length);
  if (ranks > 1) scratch_.resize(local_size_);
}

Spectrum::~Spectrum() {
  MPI_Comm_free(&x_comm_);
  MPI_Comm_free(&z_comm_);
}

void Spectrum::forward(std::vector<Complex>& data) {
  const long x = spectrum_[0].size, z = space_[2].size;
  transform(0, Direction::kForward, z * space_[1].size, 1, data);
  if (x_ranks_ > 1) exchange(x_comm_, xy_[0], xy_[1], data);
  transform(1, Direction::kForward, z, x, data);
  if (z_ranks_ > 1) exchange(z_comm_, yz_[0], yz_[1], data);
  transform(2, Direction::kForward, 1, spectrum_[1].size * x, data);
}

void Spectrum::inverse(std::vector<Complex>& data) {
  const long x = spectrum_[0].size, z = space_[2].size;
  transform(2, Direction::kInverse, 1, spectrum_[1].size * x, data);
  if (z_ranks_ > 1) exchange(z_comm_, yz_[1], yz_[0], data);
  transform(1, Direction::kInverse, z, x, data);
  if (x_ranks_ > 1) exchange(x_comm_, xy_[1], xy_[0], data);
  transform(0, Direction::kInverse, z * space_[1].size, 1, data);
}

void Spectrum::transform(int axis, Direction direction, long outer, long inner,
                         std::vector<Complex>& data) {
  Phases::Scope scope(phases_, transform_phase_);
  lines_[axis].transform(direction, outer, inner, data.data());
}

void Spectrum::pack(const Cut& cut, int blocks, const Complex* from, Complex* to) {
  const long whole = cut.middle * cut.inner, block = whole / blocks;
  for (int k = 0; k < blocks; ++k) {
    for (long i = 0; i < cut.outer; ++i) {
      to = std::copy_n(from + i * whole + k * block, block, to);
    }
  }
}

void Spectrum::unpack(const Cut& cut, int blocks, const Complex* from, Complex* to) {
  const long whole = cut.middle * cut.inner, block = whole / blocks;
  for (int k = 0; k < blocks; ++k) {
    for (long i = 0; i < cut.outer; ++i, from += block) {
      std::copy_n(from, block, to + i * whole + k * block);
    }
  }
}

void Spectrum::exchange(MPI_Comm comm, const Cut& sent, const Cut& received,
                        std::vector<Complex>& data) {
  Phases::Scope scope(phases_, exchange_phase_);
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  // A cut of one outer element is in the order of its blocks as it is.
  if (sent.outer > 1) {
    pack(sent, ranks, data.data(), scratch_.data());
    data.swap(scratch_);
  }
  const int count = static_cast<int>(2 * local_size_ / ranks);
  MPI_Alltoall(data.data(), count, MPI_DOUBLE, scratch_.data(), count, MPI_DOUBLE, comm);
  data.swap(scratch_);
  if (received.outer > 1) {
    unpack(received, ranks, data.data(), scratch_.data());
    data.swap(scratch_);
  }
}

}  // namespace sesame::workload
