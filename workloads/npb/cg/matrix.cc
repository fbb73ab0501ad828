#include "npb/cg/matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kit/random.h"

namespace sesame::workload {
namespace {

constexpr std::uint64_t kStart = 314159265;
constexpr double kReciprocalCondition = 0.1;
constexpr double kDiagonal = 0.5;  // element i of x_i

struct Element {
  int place;
  double value;
};
using SparseVector = std::vector<Element>;

// Makes x_0, x_1, …: each has random values at random places, and kDiagonal at its own place.
// How many random numbers a vector takes is itself random, so that every rank makes them all.
class VectorSource {
 public:
  VectorSource(int size, int nonzeros)
      : size_(size),
        nonzeros_(nonzeros),
        scale_(static_cast<double>(std::bit_ceil(static_cast<unsigned>(size)))) {
    random_.skip(1);  // the specification's program draws one number before these
  }

  void next(int own_place, SparseVector& x) {
    x.clear();
    while (static_cast<int>(x.size()) < nonzeros_) {
      const double value = random_.next();
      const int place = static_cast<int>(scale_ * random_.next());
      if (place < size_ && find(x, place) == x.end()) x.push_back({place, value});
    }
    const auto own = find(x, own_place);
    if (own == x.end()) {
      x.push_back({own_place, kDiagonal});
    } else {
      own->value = kDiagonal;
    }
  }

 private:
  static SparseVector::iterator find(SparseVector& x, int place) {
    return std::find_if(x.begin(), x.end(), [=](const Element& e) { return e.place == place; });
  }

  NpbRandom random_{kStart};
  int size_, nonzeros_;
  double scale_;
};

bool is_in(int place, Block block) { return block.begin <= place && place < block.end; }

// The vectors that reach this rank's rows, cut to what its block needs.
struct Contributions {
  struct Use {
    int row;     // from the first row of the block
    int vector;  // a number in `begin`
    double factor;
  };
  std::vector<Use> uses;          // in the order of the vectors
  std::vector<int> begin{0};      // of each vector in `elements`
  std::vector<Element> elements;  // those in the block's columns

  void add(const SparseVector& x, double omega, Block rows, Block columns) {
    const std::size_t uses_before = uses.size();
    const int number = static_cast<int>(begin.size()) - 1;
    for (const Element& e : x) {
      if (!is_in(e.place, rows)) continue;
      uses.push_back({static_cast<int>(e.place - rows.begin), number, omega * e.value});
    }
    if (uses.size() == uses_before) return;
    for (const Element& e : x) {
      if (is_in(e.place, columns)) elements.push_back(e);
    }
    begin.push_back(static_cast<int>(elements.size()));
  }
};

Contributions gather(int size, int nonzeros, Block rows, Block columns) {
  const double ratio = std::pow(kReciprocalCondition, 1.0 / size);
  Contributions result;
  VectorSource source(size, nonzeros);
  SparseVector x;
  double omega = 1;
  for (int i = 0; i < size; ++i, omega *= ratio) {
    source.next(i, x);
    result.add(x, omega, rows, columns);
  }
  std::stable_sort(result.uses.begin(), result.uses.end(),
                   [](const auto& a, const auto& b) { return a.row < b.row; });
  return result;
}

// Adds up one row: a dense row of sums and a list of the columns in it.
class RowSum {
 public:
  explicit RowSum(Block columns) : first_(columns.begin), sums_(columns.size()) {}

  void add(int column, double value) {
    const int at = static_cast<int>(column - first_);
    if (sums_[at] == 0) columns_.push_back(at);  // values are positive until the shift comes
    sums_[at] += value;
  }

  void shift(int column, double value) { sums_[column - first_] += value; }

  void move_to(SparseBlock& block) {
    std::sort(columns_.begin(), columns_.end());
    for (int column : columns_) {
      block.column.push_back(column);
      block.value.push_back(sums_[column]);
      sums_[column] = 0;
    }
    columns_.clear();
    block.row_begin.push_back(static_cast<int>(block.value.size()));
  }

 private:
  long first_;
  std::vector<double> sums_;
  std::vector<int> columns_;
};

}  // namespace

void SparseBlock::multiply(const double* __restrict vector, double* __restrict result) const {
  const int rows = static_cast<int>(row_begin.size()) - 1;
  const int* __restrict columns = column.data();
  const double* __restrict values = value.data();
  for (int row = 0; row < rows; ++row) {
    const int end = row_begin[row + 1];
    int k = row_begin[row];
    // Four sums, because one alone would wait for each addition to end.
    double a = 0, b = 0, c = 0, d = 0;
    for (; k + 4 <= end; k += 4) {
      a += values[k] * vector[columns[k]];
      b += values[k + 1] * vector[columns[k + 1]];
      c += values[k + 2] * vector[columns[k + 2]];
      d += values[k + 3] * vector[columns[k + 3]];
    }
    for (; k < end; ++k) a += values[k] * vector[columns[k]];
    result[row] = (a + b) + (c + d);
  }
}

SparseBlock make_matrix(int size, int nonzeros, double shift, Block rows, Block columns) {
  const Contributions all = gather(size, nonzeros, rows, columns);
  SparseBlock block;
  block.row_begin.push_back(0);
  RowSum sum(columns);
  auto use = all.uses.begin();
  for (long row = rows.begin; row < rows.end; ++row) {
    for (; use != all.uses.end() && use->row == row - rows.begin; ++use) {
      for (int k = all.begin[use->vector]; k < all.begin[use->vector + 1]; ++k) {
        sum.add(all.elements[k].place, use->factor * all.elements[k].value);
      }
    }
    if (is_in(static_cast<int>(row), columns)) {
      sum.shift(static_cast<int>(row), kReciprocalCondition - shift);
    }
    sum.move_to(block);
  }
  block.column.shrink_to_fit();
  block.value.shrink_to_fit();
  return block;
}

}  // namespace sesame::workload
