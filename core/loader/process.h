// RankProcess: the C library state of one rank: variables, streams, handlers and the like that a
// process would have. With the pages of its copy, this is all that a rank owns. Internal to the
// loader: the simulator uses loader.h.
//
// Order: ProgramImage::load() makes it, set_stack(), then activate() and run_program() on that
// stack; activate() at every switch. The destructor frees everything and runs no code of the
// program: its handlers and finalizers run in exit_process() (exit.h).
//
// Functions of the C library that the rank calls (rank_… in the files of this directory) read and
// change the members of current(), which is null outside ranks: they call the real function then.
// Threads that a rank starts only read what load() has set. Nothing here fails; state that cannot
// be restored at a switch is a CHECK.
#pragma once

#include <locale.h>
#include <signal.h>
#include <stdlib.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/loader/loader.h"
#include "core/loader/thread_block.h"
#include "core/loader/variables.h"

struct tm;

extern "C" {
extern const char __executable_start;
extern const char etext;
}

namespace sesame::loader {

// Ranks share the descriptors, the working directory and the file mode mask of one process.
inline constexpr bool kRanksShareProcess = true;

// Whether the address is in the simulator's own code.
inline bool is_host_code(const void* address) {
  return address >= &__executable_start && address < &etext;
}

class ImageSet;

// One registered call for the end of the rank.
struct ExitHandler {
  enum class Kind : uint8_t { kPlain, kWithStatus, kWithArgument } kind;
  void* function;
  void* argument;
  void* library;  // __dso_handle of the registering image, or null
};

// One image that was opened by name. The address of this object is the handle that the program
// gets.
struct OpenLibrary {
  uint32_t image = 0;
  int count = 0;        // calls of dlopen less those of dlclose
  bool global = false;  // RTLD_GLOBAL
  bool stays = false;   // RTLD_NODELETE
};

// What a rank has opened by dlopen (plugins.h).
struct Plugins {
  std::vector<std::unique_ptr<OpenLibrary>> opened;  // handles stay valid
  std::vector<uint32_t> loaded;                      // images, in order of loading
  std::string error;                                 // dlerror's next answer; empty: none
  std::string given;                                 // the answer that the program holds
};

struct RandomState {
  random_data data = {};
  std::array<char, 128> table = {};
};

// The part of the exception runtime's state that belongs to a flow of control; the layout is fixed
// by the Itanium C++ ABI (__cxa_eh_globals).
struct ExceptionState {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};

// The state that a switch between ranks exchanges: one cache line.
struct alignas(64) SwitchedState {
  FILE* in = nullptr;
  FILE* out = nullptr;
  FILE* err = nullptr;
  char** environment = nullptr;
  ExceptionState exceptions;
  int error_number = 0;
};

// getopt's position in a group of short options, and the operands that it has skipped.
struct OptionScan {
  const char* next = nullptr;
  int first_operand = 1;
  int last_operand = 1;
  bool started = false;
};

class RankProcess {
 public:
  RankProcess() = default;
  ~RankProcess();
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;

  template <typename T>
  T& variable(Variable which) const {
    return *static_cast<T*>(variables[static_cast<size_t>(which)]);
  }

  // Values of the rank's variables stdin, stdout, stderr and environ. Assignments by the program
  // itself, without freopen or setenv, are not seen.
  SwitchedState switched;

  // Set by load(). The program and its arguments are the caller's; `bases` and `thread_storage`
  // grow when the rank opens plug-ins.
  int rank = 0;
  ImageSet* images = nullptr;
  const LaunchArguments* arguments = nullptr;
  const Program* program = nullptr;
  // By image: what is added to its addresses in the rank's copy, 0 if the rank has no copy.
  // Includes the block (ImageSet::block_image). May be shorter than the set of images.
  std::vector<uint64_t> bases;
  std::unique_ptr<char[]> block;  // variables, and clones of the C++ streams
  std::array<void*, kVariableCount> variables = {};
  // Thread-local variables: of images with a place in the window; of the others by image, made on
  // first use.
  std::unique_ptr<ThreadBlock> thread_block;
  std::vector<std::unique_ptr<char[]>> thread_storage;

  // The streams that the rank began with; set by load().
  FILE* in = nullptr;
  FILE* out = nullptr;
  FILE* err = nullptr;

  // Registered by the program, run by exit_process() (exit.cc).
  std::vector<ExitHandler> exit_handlers;
  std::vector<ExitHandler> thread_exit_handlers;  // destructors of thread-local objects: run first
  std::vector<ExitHandler> quick_exit_handlers;
  std::unique_ptr<Plugins> plugins;  // what it opened by dlopen; made on first use
  // main's, for constructors; on the rank's stack. Set when the program starts (start.cc).
  int argument_count = 0;
  char** argument_values = nullptr;
  bool libraries_initialized = false;  // constructors were called, finalizers not yet

  // State that few ranks use, made on first use by the calls of that name; but load() sets the
  // start variables, and `directory` if the arguments name one.
  std::unique_ptr<RandomState> random;
  std::unique_ptr<drand48_data> random48;
  std::unique_ptr<std::array<struct sigaction, NSIG>> signals;
  std::unique_ptr<tm> broken_down_time;
  std::unique_ptr<char[]> start_variables;  // of its own, each with a zero at its end
  size_t start_variable_bytes = 0;
  std::vector<std::unique_ptr<char[]>> own_strings;  // environment strings that we allocated
  std::vector<char*> own_environment;
  std::deque<std::string> locale_names;  // the program has pointers into them
  locale_t locale = nullptr;             // null: the host's
  int directory = -1;                    // descriptor; -1: the host's
  std::string working_directory;         // as the program sees it; empty: not asked for yet
  uint64_t temporary_names = 0;          // made so far by mkstemp() and the like
  int file_mode_mask = -1;               // -1: the host's
  char* token = nullptr;                 // strtok
  OptionScan options;

  // Set by set_stack(); for crash reports.
  char* stack_low = nullptr;
  size_t stack_size = 0;
  size_t guard_size = 0;
};

// The active rank of this thread, null in the simulator and in threads of the program.
extern thread_local constinit RankProcess* g_active;
inline RankProcess* current() { return g_active; }

// Set a variable of the active rank, and the host's variable of that name.
void set_stream(RankProcess& process, Variable which, FILE* file);
void set_environment(RankProcess& process, char** environment);
// A copy of the text that lives as long as the rank (own_strings).
char* keep_string(RankProcess& process, const char* text);

// The hooks in force; those left null have been given their defaults.
const SimulationHooks& hooks();

// Protects the tables of files and streams that are open, where threads of a rank use them.
struct TableLock {
  TableLock() {}
};

// As the program sees it; empty: it is that of this process.
inline void set_working_directory(RankProcess& process, const std::string& path) {
  process.working_directory = path;
}

// The process that the hooks were set in.
int host_pid();

// Called when a rank sets its own directory, mask or locale, or gets a thread block: later switches
// exchange it.
void swap_directories_from_now_on();
void enter_thread_blocks_from_now_on();
void swap_locales_from_now_on();

}  // namespace sesame::loader
