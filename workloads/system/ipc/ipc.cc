// Messages between two processes of one node through the operating system: pipe, Unix socket, TCP
// over the loopback interface. After the test of inter-process communication in Evaluation Metrics
// for the Paragon XP/S-15, RND-93-017, 3.4.2.
#include <mpi.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "kit/mpi_library.h"
#include "kit/program.h"
#include "kit/ranks.h"
#include "system/ipc/channel.h"

namespace sesame::workload {
namespace {

constexpr int kLeast = 32;  // bytes, as the report has it
constexpr int kRepeat = 3;

struct Options {
  int messages = 1000;  // as the report has it, and so are 32 bytes to 32 KiB
  int round_trips = 300;
  long most = 32 << 10;
  long step = 512;
};

struct Named {
  const char* name;
  Transport transport;
};
constexpr Named kTransports[] = {
    {"pipe", Transport::kPipe}, {"unix", Transport::kUnix}, {"tcp", Transport::kTcp}};

void refuse_simulator() {
  if (in_simulator()) {
    throw UsageError(
        "ipc cannot be simulated: it measures the operating system between two processes, which "
        "the machine models do not describe; run it with mpiexec or alone");
  }
}

void check_options(const Options& options, int ranks) {
  if (ranks != 1) {
    throw UsageError("ipc needs 1 rank, which starts the other process itself; " +
                     std::to_string(ranks) + " given");
  }
  if (options.messages < 1) {
    throw UsageError("--messages " + std::to_string(options.messages) + ": expected at least 1");
  }
  if (options.round_trips < 1) {
    throw UsageError("--round-trips " + std::to_string(options.round_trips) +
                     ": expected at least 1");
  }
  if (options.step < 1) {
    throw UsageError("--step " + std::to_string(options.step) + ": expected at least 1");
  }
  if (options.most > 1 << 30 || options.step > options.most ||
      options.most < kLeast + 3 * options.step) {
    throw UsageError("--most " + std::to_string(options.most) +
                     ": expected at least four sizes from 32 bytes in steps of " +
                     std::to_string(options.step) + ", and at most 1 GiB");
  }
}

template <typename Sample>
double best_of(const Sample& sample) {
  double best = sample();
  for (int i = 1; i < kRepeat; ++i) best = std::min(best, sample());
  return best;
}

long measure(Report& report, const Named& named, const Options& options) {
  Channel channel(named.transport, static_cast<int>(options.most));
  std::vector<double> sizes, message, one_way;
  for (long at = kLeast; at <= options.most; at += options.step) {
    const int size = static_cast<int>(at);
    sizes.push_back(size);
    message.push_back(best_of([&] { return channel.stream(size, options.messages); }) /
                      options.messages);
    one_way.push_back(best_of([&] { return channel.half_round_trip(size, options.round_trips); }));
  }
  report.column(named.name, "size", "B", sizes);
  report.column(named.name, "message", "s", message);
  report.column(named.name, "half_round_trip", "s", one_way);
  return channel.damaged();
}

void run(Report& report, const Options& options) {
  refuse_simulator();
  check_options(options, number_of_ranks());
  std::signal(SIGPIPE, SIG_IGN);  // a process that has ended is an error of write
  report.parameter("messages", long{options.messages});
  report.parameter("round_trips", long{options.round_trips});
  report.parameter("most", options.most);
  report.parameter("step", options.step);
  const double began = MPI_Wtime();
  long damaged = 0;
  for (const Named& named : kTransports) damaged += measure(report, named, options);
  report.time(MPI_Wtime() - began);
  report.check_exact("damaged bytes", damaged, 0);
}

}  // namespace
}  // namespace sesame::workload

int main(int argc, char** argv) {
  sesame::workload::Program program("ipc", "messages between processes of one node");
  sesame::workload::Options options;
  program.arguments().add("--messages", options.messages, "messages of a stream");
  program.arguments().add("--round-trips", options.round_trips, "round trips of a sample");
  program.arguments().add_size("--most", options.most, "largest message");
  program.arguments().add_size("--step", options.step, "from one size to the next");
  return program.run(argc, argv, [&](sesame::workload::Report& report) {
    sesame::workload::run(report, options);
  });
}
