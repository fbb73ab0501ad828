// Sizes in bytes as text: 4096, 64KiB, 1.5GiB.
#ifndef WORKLOADS_KIT_BYTE_SIZES_H_
#define WORKLOADS_KIT_BYTE_SIZES_H_

#include <string>

namespace sesame::workload {

// Parses a size; `option` names the option in error messages. Throws UsageError.
long parse_bytes(const std::string& option, const std::string& text);

// The text with the largest unit that leaves a whole number: "64KiB".
std::string format_bytes(long bytes);

}  // namespace sesame::workload

#endif  // WORKLOADS_KIT_BYTE_SIZES_H_
