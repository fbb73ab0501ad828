#include "kit/byte_sizes.h"

#include <cmath>
#include <cstdlib>

#include "kit/arguments.h"

namespace sesame::workload {
namespace {

struct Unit {
  const char* name;
  long bytes;
};

constexpr Unit kUnits[] = {
    {"TiB", 1L << 40}, {"GiB", 1L << 30}, {"MiB", 1L << 20}, {"KiB", 1L << 10}, {"B", 1}};
constexpr double kMost = 1e18;

}  // namespace

long parse_bytes(const std::string& option, const std::string& text) {
  char* rest = nullptr;
  const double number = std::strtod(text.c_str(), &rest);
  for (const Unit& unit : kUnits) {
    const bool named = rest == std::string(unit.name) || (unit.bytes == 1 && *rest == '\0');
    const double bytes = number * static_cast<double>(unit.bytes);
    if (rest != text.c_str() && named && bytes >= 0 && bytes <= kMost) return std::lround(bytes);
  }
  throw UsageError(option + " " + text + ": expected a size such as 64KiB or 1.5GiB");
}

std::string format_bytes(long bytes) {
  for (const Unit& unit : kUnits) {
    if (bytes >= unit.bytes && bytes % unit.bytes == 0)
      return std::to_string(bytes / unit.bytes) + unit.name;
  }
  return std::to_string(bytes) + "B";
}

}  // namespace sesame::workload
