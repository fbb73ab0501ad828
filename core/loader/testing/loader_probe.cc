// A minimal simulator. It runs N copies of a program as fibers in turn, with a few MPI functions
// that only know rank, size and a barrier. Tests drive it; it prints what every rank wrote, rank by
// rank, and how it ended.
//
//   loader_probe [-n RANKS] [--direct] [--measure] [--private PATTERN] PROGRAM [ARGUMENT…]
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/base/sim_time.h"
#include "core/loader/loader.h"

using sesame::SimTime;
using namespace sesame::loader;

namespace {

constexpr size_t kGuard = 4096;
constexpr int kStackMappings = 2;  // with its guard

struct Rank {
  RankProcessPtr process;
  ucontext_t context;
  char* stack = nullptr;
  SimTime now;
  std::string output[3];
  int status = -1;
};

struct Options {
  int ranks = 2;
  bool direct = false;   // output at once, not rank by rank at the end
  bool measure = false;  // print what loading costs
  size_t stack_size = 256 * 1024;
  InspectOptions inspect;
  std::vector<std::string> command;
};

std::vector<Rank> g_ranks;
std::deque<int> g_ready;
ucontext_t g_main;
int g_current = -1;
int g_waiting = 0;  // ranks in the barrier
std::vector<int> g_barrier;
Options g_options;

void print_all() {
  for (size_t r = 0; r < g_ranks.size(); ++r) {
    for (int fd = 1; fd <= 2; ++fd) {
      if (g_ranks[r].output[fd].empty()) continue;
      printf("== rank %zu, %s\n%s", r, fd == 1 ? "stdout" : "stderr",
             g_ranks[r].output[fd].c_str());
    }
    if (!g_options.measure) printf("== rank %zu ended with %d\n", r, g_ranks[r].status);
  }
  fflush(stdout);
}

// Back to the loop in main; the rank resumes when it is put into g_ready again.
void leave_rank() {
  Rank& rank = g_ranks[static_cast<size_t>(g_current)];
  swapcontext(&rank.context, &g_main);
}

void wait_for_all() {
  if (++g_waiting < static_cast<int>(g_ranks.size())) {
    g_barrier.push_back(g_current);
  } else {
    g_waiting = 0;
    for (int waiting : g_barrier) g_ready.push_back(waiting);
    g_barrier.clear();
    g_ready.push_back(g_current);
  }
  leave_rank();
}

Rank& current_rank() { return g_ranks[static_cast<size_t>(g_current)]; }

SimulationHooks make_hooks() {
  SimulationHooks hooks;
  hooks.now_ps = [] { return current_rank().now.ps(); };
  hooks.cpu_time_ps = [] { return int64_t{5'000'000'000}; };
  hooks.sleep_ns = [](int64_t ns) { current_rank().now += SimTime::from_ns(ns); };
  hooks.exit_rank = [](int status) {
    current_rank().status = status;
    leave_rank();
  };
  hooks.abort_job = [](int status, const char* why) {
    activate(nullptr);
    print_all();
    printf("== job aborted with %d: %s\n", status, why);
    fflush(stdout);
    _exit(status);
  };
  hooks.node_name = [] { return g_current % 2 == 0 ? "node-even" : "node-odd"; };
  hooks.write_output = [](int rank, int fd, const char* data, size_t size) {
    if (g_options.direct) {
      HostScope host;
      (void)!::write(fd, data, size);
    } else {
      g_ranks[static_cast<size_t>(rank)].output[fd].append(data, size);
    }
  };
  hooks.current_call = []() -> const char* { return nullptr; };
  hooks.epoch_ns = 1'000'000'000'000'000'000;
  return hooks;
}

void enter_rank() { run_program(*current_rank().process); }

bool parse(int argc, char** argv) {
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; ++i) {
    const std::string word = argv[i];
    if (word == "-n" && i + 1 < argc) {
      g_options.ranks = atoi(argv[++i]);
    } else if (word == "--private" && i + 1 < argc) {
      g_options.inspect.private_libraries.push_back(argv[++i]);
    } else if (word == "--direct") {
      g_options.direct = true;
    } else if (word == "--measure") {
      g_options.measure = true;
    } else {
      return false;
    }
  }
  g_options.command.assign(argv + i, argv + argc);
  return !g_options.command.empty();
}

int fail(const sesame::Error& problem) {
  fprintf(stderr, "%s\n", problem.to_string().c_str());
  return 2;
}

double wall_seconds() {
  timespec now;
  host_clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Resident pages that no other process maps, in kB.
double private_kb() {
  std::ifstream file("/proc/self/smaps_rollup");
  std::string word;
  double total = 0, value = 0;
  while (file >> word)
    if (word == "Private_Dirty:" || word == "Private_Clean:") {
      file >> value;
      total += value;
    }
  return total;
}

char* make_stack() {
  void* memory = mmap(nullptr, g_options.stack_size + kGuard, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  mprotect(memory, kGuard, PROT_NONE);
  return static_cast<char*>(memory) + kGuard;
}

int count_mappings() {
  std::ifstream file("/proc/self/maps");
  std::string line;
  int count = 0;
  while (std::getline(file, line)) ++count;
  return count;
}

sesame::Result<> load_all(ProgramImage& image, const LaunchArguments& arguments) {
  g_ranks.resize(static_cast<size_t>(g_options.ranks));
  for (int r = 0; r < g_options.ranks; ++r) {
    sesame::Result<RankProcessPtr> process = image.load(r, arguments);
    if (!process) return std::unexpected(process.error());
    Rank& rank = g_ranks[static_cast<size_t>(r)];
    rank.process = std::move(*process);
    const size_t size = g_options.stack_size;
    rank.stack = make_stack();
    if (rank.stack == nullptr) return sesame::error("no memory for a stack");
    set_stack(*rank.process, rank.stack, size, kGuard);
    getcontext(&rank.context);
    rank.context.uc_stack.ss_sp = rank.stack;
    rank.context.uc_stack.ss_size = size;
    makecontext(&rank.context, enter_rank, 0);
    g_ready.push_back(r);
  }
  return {};
}

void run_all() {
  while (!g_ready.empty()) {
    g_current = g_ready.front();
    g_ready.pop_front();
    activate(current_rank().process.get());
    swapcontext(&g_main, &current_rank().context);
    activate(nullptr);
  }
}

}  // namespace

// The MPI that programs see, in MPICH's binary interface.
extern "C" {
#define EXPORTED [[gnu::visibility("default"), gnu::used]]
EXPORTED int MPI_Init(int*, char***) { return 0; }
EXPORTED int MPI_Finalize() { return 0; }
EXPORTED int MPI_Initialized(int* flag) { return *flag = 1, 0; }
EXPORTED int MPI_Comm_rank(int, int* rank) { return *rank = g_current, 0; }
EXPORTED int MPI_Comm_size(int, int* size) { return *size = static_cast<int>(g_ranks.size()), 0; }
EXPORTED int MPI_Barrier(int) { return wait_for_all(), 0; }
EXPORTED double MPI_Wtime() { return current_rank().now.seconds(); }
// What MPICH's Fortran layer asks for.
EXPORTED int *MPI_F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE, *MPI_UNWEIGHTED, *MPI_WEIGHTS_EMPTY;
EXPORTED int *MPI_F08_STATUS_IGNORE, *MPI_F08_STATUSES_IGNORE;
}

int main(int argc, char** argv) {
  if (!parse(argc, argv)) {
    fprintf(stderr,
            "usage: loader_probe [-n RANKS] [--direct] [--measure] [--private PATTERN] PROGRAM "
            "[ARGUMENT...]\n");
    return 2;
  }
  set_hooks(make_hooks());
  install_crash_reporter();
  signal(SIGINT, [](int) { host_exit(130); });
  const sesame::Result<Program> program = inspect_program(g_options.command[0], g_options.inspect);
  if (!program) return fail(program.error());
  if (auto fits = check_mapping_limit(*program, g_options.ranks, kStackMappings); !fits)
    return fail(fits.error());
  LaunchArguments arguments{g_options.command, {}, {}};
  for (char** variable = environ; *variable != nullptr; ++variable)
    arguments.environment.emplace_back(*variable);
  auto image = ProgramImage::open(*program);
  if (!image) return fail(image.error());

  const int mappings_before = count_mappings();
  const double memory_before = private_kb(), begin = wall_seconds();
  if (auto loaded = load_all(**image, arguments); !loaded) return fail(loaded.error());
  const double loaded_at = wall_seconds();
  const int mappings = count_mappings() - mappings_before;
  run_all();
  const double end = wall_seconds();
  if (g_options.measure) {
    printf(
        "%d ranks: load %.1f us and %.1f kB per rank with the whole run; run %.1f us per rank; "
        "mappings per rank %.2f, expected %d\n",
        g_options.ranks, (loaded_at - begin) / g_options.ranks * 1e6,
        (private_kb() - memory_before) / g_options.ranks, (end - loaded_at) / g_options.ranks * 1e6,
        static_cast<double>(mappings) / g_options.ranks,
        program->mappings_per_rank + kStackMappings);
  }
  print_all();
  int worst = 0;
  for (const Rank& rank : g_ranks) worst = std::max(worst, rank.status);
  g_ranks.clear();  // before the image that the copies came from
  return worst;
}
