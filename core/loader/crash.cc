// Reports the fault of a rank: which rank, the address, the MPI call and the stack of functions.
#include "core/loader/crash.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "core/base/check.h"
#include "core/base/spelling.h"
#include "core/loader/dispositions.h"
#include "core/loader/images.h"
#include "core/loader/load.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

constexpr size_t kAlternateStackSize = 256 * 1024;  // backtraces and handlers of programs
constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr int kMostFrames = 64, kShownFrames = 16;

// Text on the stack: the heap may be corrupt.
class Message {
 public:
  [[gnu::format(printf, 2, 3)]] void add(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int written = vsnprintf(text_ + size_, sizeof text_ - size_, format, arguments);
    va_end(arguments);
    if (written > 0) size_ = std::min(size_ + static_cast<size_t>(written), sizeof text_ - 1);
  }
  const char* text() const { return text_; }
  void print() const { (void)!REAL(write)(STDERR_FILENO, text_, size_); }

 private:
  char text_[8192] = {};
  size_t size_ = 0;
};

void add_address(Message& message, const void* address) {
  const CopyLocation copy = find_copy(address);
  uint64_t offset = 0;
  if (copy.image != nullptr) {
    const uint64_t own = reinterpret_cast<uint64_t>(address) - copy.base;
    const char* function = copy.image->file.nearest_function(own, &offset);
    if (function != nullptr) {
      message.add("%s+0x%lx (%s+0x%lx)", function, offset, copy.image->name.c_str(), own);
    } else {
      message.add("%s+0x%lx", copy.image->name.c_str(), own);
    }
    return;
  }
  Dl_info info;
  if (dladdr(address, &info) != 0 && info.dli_fname != nullptr) {
    const char* slash = strrchr(info.dli_fname, '/');
    const char* library = slash == nullptr ? info.dli_fname : slash + 1;
    const auto from = [&](const void* base) {
      return static_cast<long>(static_cast<const char*>(address) - static_cast<const char*>(base));
    };
    if (info.dli_sname != nullptr)
      message.add("%s+0x%lx (%s)", info.dli_sname, from(info.dli_saddr), library);
    else
      message.add("%s+0x%lx", library, from(info.dli_fbase));
    return;
  }
  message.add("%p", address);
}

// Starts at the faulting instruction if it is known: frames above are those of this reporter.
void add_backtrace(Message& message, const void* fault) {
  void* frames[kMostFrames];
  const int count = backtrace(frames, kMostFrames);
  int first = 0;
  for (int i = 0; i < count; ++i)
    if (frames[i] == fault) first = i;
  int shown = 0;
  for (int i = first; i < count && shown < kShownFrames; ++i) {
    // Without a faulting instruction, start in the rank's own code.
    if (fault == nullptr && shown == 0 && find_copy(frames[i]).image == nullptr) continue;
    message.add("  #%d ", shown++);
    add_address(message, frames[i]);
    message.add("\n");
  }
}

bool is_stack_overflow(const RankProcess& process, const siginfo_t& info) {
  const auto* address = static_cast<const char*>(info.si_addr);
  return process.stack_low != nullptr && address >= process.stack_low - process.guard_size &&
         address < process.stack_low;
}

const char* name_of(int number) {
  switch (number) {
    case SIGSEGV:
      return "segmentation fault";
    case SIGBUS:
      return "bus error";
    case SIGFPE:
      return "arithmetic error";
    case SIGILL:
      return "illegal instruction";
    default:
      return "abort";
  }
}

void add_call(Message& message) {
  if (const char* call = hooks().current_call()) message.add(", in %s", call);
}

[[noreturn]] void end_by_signal(int number) {
  REAL(signal)(number, SIG_DFL);
  REAL(raise)(number);
  REAL(_exit)(128 + number);
  __builtin_trap();
}

[[noreturn]] void end_job(const Message& message, const RankProcess& process, int number) {
  message.print();
  char why[128];
  snprintf(why, sizeof why, "rank %d ended by signal %d (%s)", process.rank, number,
           strsignal(number));
  hooks().abort_job(128 + number, why);
  REAL(_exit)(128 + number);
  __builtin_trap();
}

[[noreturn]] void report_fault(const RankProcess& process, int number, const siginfo_t& info,
                               const ucontext_t& context) {
  if (is_forked()) end_by_signal(number);
  Message message;
  const auto* at = reinterpret_cast<const void*>(context.uc_mcontext.gregs[REG_RIP]);
  if (is_stack_overflow(process, info)) {
    message.add("sesame: rank %d overflowed its stack of %zu kB", process.rank,
                process.stack_size / 1024);
    add_call(message);
    message.add("\nhint: give ranks more with %s\n", spelled("--stack-size", "stack_size="));
  } else if (number == SIGABRT) {
    message.add("sesame: rank %d called abort()", process.rank);
    add_call(message);
    message.add("\n");
  } else {
    message.add("sesame: rank %d crashed: %s at address %p", process.rank, name_of(number),
                info.si_addr);
    add_call(message);
    message.add("\n");
  }
  add_backtrace(message, number == SIGABRT ? nullptr : at);
  end_job(message, process, number);
}

[[noreturn]] void report_own_fault(int number, const siginfo_t& info, const ucontext_t& context) {
  Message message;
  message.add("sesame: the simulator itself crashed: %s at address %p\n", name_of(number),
              info.si_addr);
  add_backtrace(message, reinterpret_cast<const void*>(context.uc_mcontext.gregs[REG_RIP]));
  message.print();
  end_by_signal(number);
}

void handle_fault(int number, siginfo_t* info, void* context) {
  RankProcess* process = current();
  const auto& machine = *static_cast<const ucontext_t*>(context);
  if (process == nullptr) report_own_fault(number, *info, machine);
  if (deliver_signal(*process, number, info, context)) return;
  // A second fault, while reporting, ends everything at once.
  for (int fault : kFaults) REAL(signal)(fault, SIG_DFL);
  report_fault(*process, number, *info, machine);
}

}  // namespace

void report_abort(RankProcess& process, const char* what, int signal_number) {
  if (is_forked()) end_by_signal(signal_number);
  Message message;
  if (what == nullptr) {
    message.add("sesame: rank %d called abort()", process.rank);
  } else {
    message.add("sesame: rank %d was ended by a signal that it sent itself: %s", process.rank,
                what);
  }
  add_call(message);
  message.add("\n");
  add_backtrace(message, nullptr);
  end_job(message, process, signal_number);
}

void install_crash_reporter() {
  // Loads libgcc's unwinder now rather than in a handler.
  void* frame[1];
  backtrace(frame, 1);
  void* memory = mmap(nullptr, kAlternateStackSize, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(memory != MAP_FAILED);
  stack_t stack = {memory, 0, kAlternateStackSize};
  CHECK(REAL(sigaltstack)(&stack, nullptr) == 0);
  struct sigaction action = {};
  action.sa_sigaction = handle_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int fault : kFaults) REAL(sigaction)(fault, &action, nullptr);
}

std::string describe_address(const void* address) {
  Message message;
  add_address(message, address);
  return message.text();
}

}  // namespace sesame::loader
