// Trouble that only some ranks see, made the trouble of all.
#ifndef WORKLOADS_KIT_AGREE_H_
#define WORKLOADS_KIT_AGREE_H_

#include <stdexcept>
#include <string>

namespace sesame::workload {

// What went wrong in the middle of a run, on all ranks alike: Program says it once and ends with
// status 1.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Collective. `trouble` is empty on ranks where all is well; else all ranks throw a UsageError with
// the text of the first that has one.
void refuse_if_any(const std::string& trouble);
// The same with a Failure.
void fail_if_any(const std::string& trouble);

}  // namespace sesame::workload

#endif  // WORKLOADS_KIT_AGREE_H_
