// The standard output and error of the ranks: passed through at once, or line by line with the
// rank's number in front.
#pragma once

#include <cstddef>

namespace sesame::sim {

void configure_program_output(bool label, bool stdout_to_stderr);
void write_program_output(int rank, int descriptor, const char* data, size_t size);
// Writes incomplete last lines of labelled output.
void flush_program_output();

}  // namespace sesame::sim
