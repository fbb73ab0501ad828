// The answer to MPI_Get_library_version.
#pragma once

namespace sesame::abi {

// Writes the text and its null byte, fewer than 128 bytes in all, and returns the text's length.
int write_library_version(const char* binary_interface, char* version);

}  // namespace sesame::abi
