#include <cmath>
#include <vector>

#include "core/mpi/api.h"
#include "core/mpi/communicators/topology_create.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

// The greatest r with r^power <= value.
int root_floor(int value, int power) {
  const auto at_most = [value, power](long long root) {
    long long product = 1;
    for (int i = 0; i < power && product <= value; ++i) product *= root;
    return product <= value;
  };
  auto root = static_cast<long long>(std::pow(value, 1.0 / power));
  while (!at_most(root)) --root;
  while (at_most(root + 1)) ++root;
  return static_cast<int>(root);
}

// The least r with r^power >= value.
int root_ceil(int value, int power) { return value == 1 ? 1 : root_floor(value - 1, power) + 1; }

// Splits a number into factors in ascending order.
class Factoring {
 public:
  explicit Factoring(int count) : factors_(static_cast<size_t>(count)) {}

  // The factors, largest first.
  std::vector<int> split(int number) {
    const int count = static_cast<int>(factors_.size());
    if (count == 1) return {number};
    for (int least = root_floor(number, count); least >= 1; --least) {
      // The difference cannot get smaller any more: the largest factor only grows from here.
      if (root_ceil(number / least, count - 1) - least >= best_difference_) break;
      if (number % least != 0) continue;
      factors_[0] = least;
      best_largest_ = best_difference_ == kNone ? kNone : least + best_difference_;
      search(number / least, 1);
      if (best_largest_ != kNone) best_difference_ = best_.back() - best_.front();
    }
    return {best_.rbegin(), best_.rend()};
  }

 private:
  static constexpr long long kNone = 1LL << 32;

  // Completes factors_[position...] so that the last one is below best_largest_.
  void search(int number, int position) {
    const int left = static_cast<int>(factors_.size()) - position;
    const int minimum = factors_[static_cast<size_t>(position - 1)];
    if (left == 1) {
      if (number < minimum || number >= best_largest_) return;
      factors_.back() = number;
      best_ = factors_;
      best_largest_ = number;
      return;
    }
    for (int factor = root_floor(number, left); factor >= minimum; --factor) {
      if (root_ceil(number / factor, left - 1) >= best_largest_) break;
      if (number % factor != 0) continue;
      factors_[static_cast<size_t>(position)] = factor;
      search(number / factor, position + 1);
    }
  }

  std::vector<int> factors_;
  std::vector<int> best_;
  long long best_largest_ = kNone;
  long long best_difference_ = kNone;
};

}  // namespace

bool create_dims(int nodes, std::span<int> dims) {
  long long fixed = 1;
  int open = 0;
  for (int dim : dims) {
    if (dim == 0) {
      ++open;
    } else {
      fixed *= dim;
      if (fixed > nodes) return false;
    }
  }
  if (nodes % fixed != 0) return false;
  const int rest = static_cast<int>(nodes / fixed);
  if (open == 0) return rest == 1;
  const std::vector<int> factors = Factoring(open).split(rest);
  size_t next = 0;
  for (int& dim : dims) {
    if (dim == 0) dim = factors[next++];
  }
  return true;
}

int Dims_create(int nnodes, int ndims, int* dims) {
  if (nnodes < 1) {
    return fail(MPI_ERR_ARG, "the number of nodes is not positive: " + std::to_string(nnodes));
  }
  if (ndims < 0) {
    return fail(MPI_ERR_DIMS, "the number of dimensions is negative: " + std::to_string(ndims));
  }
  if (ndims == 0) return MPI_SUCCESS;
  MPI_TRY(check_out(dims, "dims"));
  const std::span<int> all(dims, static_cast<size_t>(ndims));
  for (int dim : all) {
    if (dim < 0) return fail(MPI_ERR_DIMS, "a dimension is negative: " + std::to_string(dim));
  }
  if (create_dims(nnodes, all)) return MPI_SUCCESS;
  return fail(MPI_ERR_DIMS,
              "the product of the given dimensions does not divide the number of "
              "nodes, " +
                  std::to_string(nnodes));
}

}  // namespace sesame::mpi
