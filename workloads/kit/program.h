// The frame of a workload's main function: MPI, arguments, report, exit status.
//
//   int main(int argc, char** argv) {
//     sesame::workload::Program program("cg", "smallest eigenvalue of a sparse matrix");
//     std::string name = "S";
//     program.arguments().add("--class", name, "problem class: S, W, A or B");
//     return program.run(argc, argv, [&](Report& report) { …; report.check(…); });
//   }
//
// Exit status: 0 if the answer is verified or reported as not verifiable, 1 if it is wrong or the
// run failed, 2 for wrong usage.
#ifndef WORKLOADS_KIT_PROGRAM_H_
#define WORKLOADS_KIT_PROGRAM_H_

#include <functional>
#include <string>

#include "kit/arguments.h"
#include "kit/report.h"

namespace sesame::workload {

class Program {
 public:
  Program(const std::string& name, const std::string& purpose);

  // To add the program's own options. --report is predefined.
  Arguments& arguments() { return arguments_; }

  // Starts MPI, reads the arguments, calls `body` on every rank, ends MPI. `body` may throw
  // UsageError or Failure (kit/agree.h) if all ranks do; any other exception, on any rank, ends all
  // with status 1.
  int run(int argc, char** argv, const std::function<void(Report&)>& body);

 private:
  int run_ranks(int argc, char** argv, const std::function<void(Report&)>& body);

  std::string name_;
  Arguments arguments_;
  std::string report_file_;
};

}  // namespace sesame::workload

#endif  // WORKLOADS_KIT_PROGRAM_H_
