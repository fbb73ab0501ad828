// Runs programs under loader_probe, and on their own for comparison.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace sesame::loader {

struct RunResult {
  std::string text;  // stdout and stderr together
  int status = -1;   // exit status; 128 + signal when killed
};

// Runs a shell command.
RunResult run_command(const std::string& command);

// Runs a program of tests/programs/loader under the probe. `options` are the probe's, `arguments`
// those of the program. `input` is its standard input, written by printf.
RunResult run_probe(const std::string& options, const std::string& program,
                    const std::string& arguments = {}, const std::string& input = {});

// The path of a program that the build made.
std::string program_path(const std::string& name);

// What one rank wrote to stdout (fd 1) or stderr (fd 2) in a run of the probe.
std::string output_of(const RunResult& result, int rank, int fd = 1);

// The exit status of a rank; -1 when the output does not have it.
int status_of(const RunResult& result, int rank);

// Skips when the machine has no MPICH compilers.
#define REQUIRE_PROGRAMS()                                     \
  if (access(program_path("library_user").c_str(), X_OK) != 0) \
  GTEST_SKIP() << "MPICH's compilers are not installed (libmpich-dev, gfortran)"

}  // namespace sesame::loader
