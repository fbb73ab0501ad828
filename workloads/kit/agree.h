// Trouble that only some ranks see, made the trouble of all.
#ifndef WORKLOADS_KIT_AGREE_H_
#define WORKLOADS_KIT_AGREE_H_

#include <string>

namespace sesame::workload {

// Collective. `trouble` is empty on ranks where all is well; else all ranks throw a UsageError with
// the text of the first that has one.
void refuse_if_any(const std::string& trouble);

}  // namespace sesame::workload

#endif  // WORKLOADS_KIT_AGREE_H_
