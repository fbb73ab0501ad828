// The standard output and error of the ranks: passed through at once, or line by line with the
// rank's number in front.
#pragma once

#include <cstddef>

namespace sesame::sim {

// `label`: write whole lines with the rank's number in front. `stdout_to_stderr`: write standard
// output to standard error.
void configure_program_output(bool label, bool stdout_to_stderr);
// `descriptor` is 1 or 2, as the rank sees it.
void write_program_output(int rank, int descriptor, const char* data, size_t size);
// Writes incomplete last lines of labelled output.
void flush_program_output();

}  // namespace sesame::sim
