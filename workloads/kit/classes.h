// Problem classes of the NAS Parallel Benchmarks: a table from the class's letter to its sizes.
#ifndef WORKLOADS_KIT_CLASSES_H_
#define WORKLOADS_KIT_CLASSES_H_

#include <string>

#include "kit/arguments.h"

namespace sesame::workload {

// The row of `table`, an array of structures with a member `const char* name`, that has this
// name. Throws UsageError.
template <typename Row, int count>
const Row& find_class(const Row (&table)[count], const std::string& name) {
  std::string known;
  for (const Row& row : table) {
    if (row.name == name) return row;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  throw UsageError("--class " + name + ": there is no such class, expected one of " + known);
}

}  // namespace sesame::workload

#endif  // WORKLOADS_KIT_CLASSES_H_
