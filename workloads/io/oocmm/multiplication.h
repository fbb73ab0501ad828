// The product of two square matrices in files, by ranks that hold only some rows and columns.
//
// A rank has a block of the first matrix's rows and takes `rows` of them at a time. With each such
// panel it goes through all columns of the second matrix, `columns` at a time, and then writes its
// rows of the product.
#ifndef WORKLOADS_IO_OOCMM_MULTIPLICATION_H_
#define WORKLOADS_IO_OOCMM_MULTIPLICATION_H_

#include <algorithm>
#include <string>

#include "kit/phases.h"

namespace sesame::workload::oocmm {

struct Plan {
  long order;
  long rows, columns;
  bool staggered;     // every rank begins at another column, else all at column 0
  bool collective;    // ranks read each column once for all of them
  bool column_major;  // the second matrix lies in its file column by column, else row by row
  std::string interface;
};

// Requests of one rank to one file. Sizes in bytes.
struct Requests {
  long count = 0, smallest = 0, largest = 0;
  double bytes = 0;

  void add(long size) {
    smallest = count == 0 ? size : std::min(smallest, size);
    largest = std::max(largest, size);
    bytes += static_cast<double>(size);
    ++count;
  }
};

// The files `first`, `second` and `product` in a directory.
struct Files {
  std::string directory;
  std::string first() const { return directory + "/first"; }
  std::string second() const { return directory + "/second"; }
  std::string product() const { return directory + "/product"; }
};

struct Work {
  Requests first, second, product;
  double time_s = 0;
};

// Elements of the two matrices, whole numbers from -4 to 4.
double first_element(long row, long column);
double second_element(long row, long column);

// Collective.
void write_factors(const Plan& plan, const Files& files);

// Collective. Adds to the phases "read first", "read second", "compute" and "write product".
Work multiply(const Plan& plan, const Files& files, Phases& phases);

// What all ranks together ask for, as counted by formula.
struct Expected {
  long first, second, product;
};
Expected expected_requests(const Plan& plan, int ranks);

}  // namespace sesame::workload::oocmm

#endif  // WORKLOADS_IO_OOCMM_MULTIPLICATION_H_
