// What the ranks print. Passed through as it comes, or line by line behind the rank's number.
#pragma once

#include <cstddef>

namespace sesame::sim {

void configure_program_output(bool label, bool stdout_to_stderr);
void write_program_output(int rank, int descriptor, const char* data, size_t size);
// Labelled output: what is left of lines that have not ended.
void flush_program_output();

}  // namespace sesame::sim
