#include "core/abi/version.h"

#include <cstdio>

namespace sesame::abi {

int write_library_version(const char* binary_interface, char* version) {
  return std::snprintf(version, 128, "Sesame (simulated MPI, %s binary interface)",
                       binary_interface);
}

}  // namespace sesame::abi
