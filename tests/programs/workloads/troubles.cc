// A workload with a temporary directory, whose trouble is chosen.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "kit/files.h"
#include "kit/program.h"

namespace {

using sesame::workload::File;

struct Options {
  std::string directory = ".", trouble = "none";
  double space = 0;
  long megabytes = 0;
};

// The middle rank, so that others wait in a collective, or all ranks.
bool is_hit(const std::string& trouble) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return trouble.ends_with("-all") || rank == ranks / 2;
}

void run(sesame::workload::Report& report, const Options& options) {
  using namespace sesame::workload;
  const std::string directory = make_temporary_directory("--dir", options.directory, options.space);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string name = directory + "/data." + std::to_string(rank);
  File file = File::open(name, O_CREAT | O_RDWR);
  const std::vector<char> block(1 << 20, 'x');
  const bool hit = is_hit(options.trouble);
  const long more = hit && options.trouble.starts_with("write") ? options.megabytes : 0;
  for (long i = 0; i <= more; ++i) file.write(block.data(), block.size(), i << 20);
  std::vector<char> back(block.size());
  file.read(back.data(), back.size(), hit && options.trouble == "read" ? 1000 : 0);
  if (options.trouble == "usage") throw UsageError("all ranks agree");
  MPI_Barrier(MPI_COMM_WORLD);
  if (options.trouble == "wait") {
    if (rank == 0) File::open(options.directory + "/ready", O_CREAT | O_RDWR);
    for (;;) ::pause();
  }
  report.check_exact("same", back == block, 1);
}

}  // namespace

int main(int argc, char** argv) {
  sesame::workload::Program program("troubles", "trouble with files of the caller's choice");
  Options options;
  program.arguments().add("--dir", options.directory, "where the temporary directory is");
  program.arguments().add("--trouble", options.trouble,
                          "none, usage, read, write, write-all or wait");
  program.arguments().add("--space", options.space, "bytes that the run says it needs");
  program.arguments().add("--megabytes", options.megabytes, "to write and one more");
  return program.run(argc, argv, [&](sesame::workload::Report& report) { run(report, options); });
}
