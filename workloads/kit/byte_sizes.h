// Sizes as people write them: 4096, 64KiB, 1.5GiB.
#ifndef WORKLOADS_KIT_BYTE_SIZES_H_
#define WORKLOADS_KIT_BYTE_SIZES_H_

#include <string>

namespace sesame::workload {

// In bytes. `option` names it in messages. Throws UsageError.
long parse_bytes(const std::string& option, const std::string& text);

// With the largest unit that leaves a whole number: "64KiB".
std::string format_bytes(long bytes);

}  // namespace sesame::workload

#endif  // WORKLOADS_KIT_BYTE_SIZES_H_
