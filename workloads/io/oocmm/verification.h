// Is a matrix in a file the product? By R. Freivalds' method: C x = A (B x) for a random vector x.
#ifndef WORKLOADS_IO_OOCMM_VERIFICATION_H_
#define WORKLOADS_IO_OOCMM_VERIFICATION_H_

#include "io/oocmm/multiplication.h"

namespace sesame::workload::oocmm {

// Collective. How many rows of the product are right. A and B are taken from their formulas, C is
// read from its file, by other ranks than wrote it; sums are exact. A wrong row passes with a
// probability of about 2^-20.
long rows_that_are_right(const Plan& plan, const Files& files);

}  // namespace sesame::workload::oocmm

#endif  // WORKLOADS_IO_OOCMM_VERIFICATION_H_
