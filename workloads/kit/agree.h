// Errors that only some ranks detect, turned into an error on all ranks, so that no rank waits for
// another one that has failed.
#ifndef WORKLOADS_KIT_AGREE_H_
#define WORKLOADS_KIT_AGREE_H_

#include <stdexcept>
#include <string>

namespace sesame::workload {

// An error during the run, thrown on all ranks: Program prints it once and exits with status 1.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Collective over MPI_COMM_WORLD. `trouble` is this rank's error, empty for none. If any rank has
// one, all ranks throw a UsageError with the text of the lowest such rank.
void refuse_if_any(const std::string& trouble);
// The same with a Failure.
void fail_if_any(const std::string& trouble);

}  // namespace sesame::workload

#endif  // WORKLOADS_KIT_AGREE_H_
