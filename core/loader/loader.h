// The loader. It makes a private copy of the target program, and of the shared libraries that hold
// state, for every rank, all in this process. It also gives each rank its own C library state
// (streams, environment, exit handlers, random numbers, working directory, …).
//
// Use: inspect_program → ProgramImage::open → set_hooks → ProgramImage::load for each rank →
// run_program on the rank's own stack; activate() at every switch. Everything belongs to the one
// thread that runs the ranks; threads that a program starts see no rank and get the real C library.
// Wrong programs are an Error with a hint. Sizes are bytes, times are nanoseconds or picoseconds.
// It has no SimTime, so that simulators that calculate sensitivities have the same loader as the
// others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/loader/file_hooks.h"

struct timespec;

namespace sesame::loader {

// ---- The program ----

enum class BinaryInterface {
  kMpich,        // libmpi.so.12 and kin: MPICH, Intel MPI, MVAPICH, Cray
  kMpiStandard,  // libmpi_abi.so: the interface of the MPI 5 standard
  kOpenMpi,      // libmpi.so.40: Open MPI 4 and 5
};

// As in the names of the simulators: "mpich", "mpiabi", "openmpi".
const char* name_of(BinaryInterface interface);

struct InspectOptions {
  // Shared libraries that get a copy per rank besides the built-in list: shell patterns on the
  // file name, for instance "libpetsc*".
  std::vector<std::string> private_libraries;
};

struct Library {
  std::string name;         // as in DT_NEEDED: "libgfortran.so.5"
  std::string path;         // absolute
  bool is_private = false;  // one copy per rank
};

struct Program {
  std::string name;  // as the user wrote it
  std::string path;  // absolute, symbolic links followed
  BinaryInterface interface = BinaryInterface::kMpich;
  std::vector<std::string> mpi_libraries;     // names that our own definitions replace
  std::vector<Library> libraries;             // breadth first, without the MPI libraries
  std::vector<std::string> private_patterns;  // InspectOptions::private_libraries, for plug-ins
  bool executable_stack = false;              // ranks need to execute code on their stacks
  int mappings_per_rank = 0;                  // memory mappings of one copy, stack not counted
};

// Finds a program (on PATH when the name has no slash) and decides whether it can be simulated.
// Does not execute any of it.
Result<Program> inspect_program(const std::string& name, const InspectOptions& options = {});

// A program whose ranks run as processes of their own (core/remote).
struct ProcessProgram {
  std::string path;                          // absolute, symbolic links followed
  std::optional<BinaryInterface> interface;  // empty: known when it loads its MPI library
  bool is_static = false;                    // it has MPI in itself
};

// Finds a program, or a script, that can run as processes. Executes none of it.
Result<ProcessProgram> inspect_for_processes(const std::string& name);

// Why ranks of this program must be processes ("it is a script"); empty: it can be copied, or it is
// no program that is known to use MPI.
std::string reason_for_processes(const std::string& name);

// Whether a program (its path) calls MPI_Init_thread, which may ask for MPI_THREAD_MULTIPLE.
bool may_ask_for_threads(const std::string& path);

// An Error if `ranks` copies, each with a stack of `mappings_per_stack`, exceed vm.max_map_count.
Result<> check_mapping_limit(const Program& program, int ranks, int mappings_per_stack);

// ---- Callbacks of the simulator ----

// Called while a rank is active, on its own stack; "the rank" is the active one. Functions that end
// a rank do not return; they call activate(nullptr) before they leave the stack or call exit(). Set
// once, before the first load. A hook left null has the stated default.
struct SimulationHooks {
  // Charges the rank's computation and returns its simulated time; default: wall clock.
  int64_t (*now_ps)() = nullptr;
  int64_t (*cpu_time_ps)() = nullptr;      // what the rank has computed so far; default: now_ps()
  void (*sleep_ns)(int64_t ns) = nullptr;  // default: returns at once
  // Excludes the host time since now_ps() from the rank's computation; default: nothing.
  void (*skip_host_time)() = nullptr;
  void (*exit_rank)(int status) = nullptr;  // required; never returns
  // Never returns; default: the host exits.
  void (*abort_job)(int status, const char* why) = nullptr;
  const char* (*node_name)() = nullptr;  // default: the host's name
  // Default: writes to fd.
  void (*write_output)(int rank, int fd, const char* data, size_t size) = nullptr;
  // It has opened a library that refers to MPI_Cancel, or looked that up; default: nothing.
  void (*may_cancel)() = nullptr;
  const char* (*current_call)() = nullptr;  // MPI call that the rank is in, or null
  const FileHooks* files = nullptr;         // null: no simulated file systems
  int64_t epoch_ns = 0;  // what the real-time clocks show at simulated time zero, since 1970
};
void set_hooks(const SimulationHooks& hooks);

// ---- Copies ----

struct LaunchArguments {
  std::vector<std::string> arguments;    // argv; the first is the program's name
  std::vector<std::string> environment;  // "NAME=value"
  std::string directory;                 // working directory; empty: the host's
};

class RankProcess;
struct RankProcessDeleter {
  void operator()(RankProcess* process) const;
};
using RankProcessPtr = std::unique_ptr<RankProcess, RankProcessDeleter>;

class ImageSet;  // images.h

// The program made ready for copying: files open, symbols resolved once. Outlives its copies.
class ProgramImage {
 public:
  static Result<std::unique_ptr<ProgramImage>> open(const Program& program);
  ~ProgramImage();

  // Maps the rank's copy. Executes nothing of the program: constructors run in run_program.
  // The arguments must outlive the copy; ranks may share them. `own_variables` are further ones of
  // its environment, copied: each "NAME=value" with a zero byte at its end.
  Result<RankProcessPtr> load(int rank, const LaunchArguments& arguments,
                              std::string_view own_variables = {});

  const Program& program() const { return program_; }

 private:
  ProgramImage(Program program, std::unique_ptr<ImageSet> images);
  Program program_;
  std::unique_ptr<ImageSet> images_;
};

int rank_of(const RankProcess& process);

// Identifies the program that the rank is a copy of, as long as its ProgramImage lives.
const void* loaded_program(const RankProcess& process);
// What is added to the addresses of the program's file in the rank's copy of it.
uintptr_t program_address(const RankProcess& process);
// The variable of this name that the program defines or holds a copy of; null: none.
const void* program_variable(const RankProcess& process, const char* name);
// The function of this name in the program or in a library of which the rank has a copy; null:
// none.
const void* program_function(const RankProcess& process, const char* name);
// That which the rank's program and private libraries use by this name: the one of the first of
// them that defines it, in the order in which they were loaded; null: none.
const void* private_variable(const RankProcess& process, const char* name);

// Whether the program or one of its private libraries refers to MPI_Cancel, those that it has
// opened while it runs not counted.
bool may_cancel(const RankProcess& process);

// Addresses that a rank reads whenever it resumes, for prefetching: a few cache lines, the same
// number for every rank.
std::vector<const void*> often_used(const RankProcess& process);

// Tells the crash reporter where the rank's stack is: [low, low + size), with guard_size bytes
// below low that fault. Makes it executable when the program needs that (trampolines of nested
// functions). `low` and `size` are whole pages.
void set_stack(RankProcess& process, void* low, size_t size, size_t guard_size);

// Switches the C library's state on this thread to this rank's; null: to the simulator's. To be
// called at every switch, before the other stack is entered; costs a handful of stores. The
// variables stdin, stdout, stderr and environ are the rank's until the next call: other threads of
// the simulator must not use them. The thread pointer may change: the caller must not keep the
// address of a thread-local variable.
void activate(RankProcess* process);
RankProcess* active();

// The same without a change of the thread pointer, on the rank's own stack; for HostScope.
void set_active(RankProcess* process);

// Enters the program on the stack that is current now, which must belong to the rank and must be
// active. Ends through hooks.exit_rank, after the rank's exit handlers and flushes.
[[noreturn]] void run_program(RankProcess& process);

// Paths of the libraries that shared libraries opened while ranks ran: their state is the same for
// all ranks. A prediction that depends on it is doubtful.
std::vector<std::string> libraries_opened_for_all_ranks();

// The host's clocks. While a rank is active, clock_gettime and its like read simulated time in the
// simulator's own code too, and write() to 1 and 2 goes to the output hook. HostScope avoids both.
int host_clock_gettime(int clock, timespec* result);

// Ends the simulator at once. (exit() and _exit() would end the active rank if there is one.) May
// be called by a signal handler.
[[noreturn]] void host_exit(int status);

// While one lives, no rank is active: host code reached from a rank (progress lines, files, clocks)
// sees the host's C library.
class HostScope {
 public:
  HostScope() : process_(active()) { set_active(nullptr); }
  ~HostScope() { set_active(process_); }
  HostScope(const HostScope&) = delete;
  HostScope& operator=(const HostScope&) = delete;

 private:
  RankProcess* process_;
};

// Catches SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT on an alternate stack: a rank's own handler
// comes first, otherwise one message on the host's standard error and hooks.abort_job.
void install_crash_reporter();
// This process, forked from the one that called set_hooks(), simulates from now on.
void continue_in_this_process();
// Whether this is a child that a rank has forked: a process of its own, without simulated time.
bool is_forked();

// "main+0x1c (ring)" for an address in a rank's copy or in the host; for messages.
std::string describe_address(const void* address);
// Whether this instruction is in the active rank's own copy of the program or of a private library,
// not in a library that ranks share. May be called from a signal handler.
bool is_in_own_copy(const void* address);

}  // namespace sesame::loader
