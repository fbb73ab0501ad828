#include "kit/program.h"

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "kit/agree.h"
#include "kit/files.h"
#include "kit/ranks.h"

namespace sesame::workload {
namespace {

constexpr int kRight = 0;
constexpr int kWrong = 1;
constexpr int kUsage = 2;
constexpr unsigned kPatience_s = 10;
// MPICH's mpiexec drops what it has not yet passed on when a rank aborts.
constexpr unsigned kDelivery_us = 200000;

// Prints and writes on rank 0; every rank gets the exit status.
int conclude(const Report& report, const std::string& file) {
  int status = kRight;
  if (this_rank() == 0) {
    report.print();
    if (report.verdict() == Report::Verdict::kWrong) status = kWrong;
    const std::string error = file.empty() ? "" : report.write(file);
    if (!error.empty()) {
      std::fprintf(stderr, "error: %s\n", error.c_str());
      status = kWrong;
    }
  }
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return status;
}

// For an error on one rank, such as too little memory or a full disk: the other ranks would wait
// for it for ever. If another rank already reported an error, this one waits to be ended.
[[noreturn]] void end_all(const std::string& name, const char* what) {
  if (abandon_temporary_directories()) {
    std::fprintf(stderr, "error: %s: rank %d: %s\n", name.c_str(), this_rank(), what);
    ::usleep(kDelivery_us);
  } else {
    ::sleep(kPatience_s);
  }
  MPI_Abort(MPI_COMM_WORLD, kWrong);
  std::abort();
}

}  // namespace

Program::Program(const std::string& name, const std::string& purpose)
    : name_(name), arguments_(name, purpose) {
  arguments_.add("--report", report_file_, "write the results as JSON to this file");
}

int Program::run(int argc, char** argv, const std::function<void(Report&)>& body) {
  MPI_Init(&argc, &argv);
  int status = kUsage;
  try {
    status = run_ranks(argc, argv, body);
  } catch (const UsageError& error) {
    if (this_rank() == 0) std::fprintf(stderr, "error: %s\n", error.what());
  } catch (const Failure& error) {
    if (this_rank() == 0) std::fprintf(stderr, "error: %s: %s\n", name_.c_str(), error.what());
    status = kWrong;
  } catch (const std::exception& error) {
    end_all(name_, error.what());
  }
  remove_temporary_directories();
  MPI_Finalize();
  return status;
}

int Program::run_ranks(int argc, char** argv, const std::function<void(Report&)>& body) {
  const std::string help = arguments_.parse(argc, argv);
  if (!help.empty()) {
    if (this_rank() == 0) std::fputs(help.c_str(), stdout);
    return kRight;
  }
  Report report(name_, number_of_ranks());
  body(report);
  return conclude(report, report_file_);
}

}  // namespace sesame::workload
