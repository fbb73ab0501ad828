// Signal dispositions belong to a rank and are never installed in the kernel: a rank gets the
// signals that it sends to itself, and its faults (crash.cc). Timers and masks would act on all
// ranks at once, so calls that set them do nothing.
#include "core/loader/signals.h"

#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/loader/bindings.h"
#include "core/loader/crash.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

using Handler = void (*)(int);

struct sigaction* disposition(RankProcess& process, int number) {
  if (number <= 0 || number >= NSIG) return nullptr;
  if (process.signals == nullptr) {
    process.signals = std::make_unique<std::array<struct sigaction, NSIG>>();
    memset(process.signals->data(), 0, sizeof *process.signals);
  }
  return &(*process.signals)[static_cast<size_t>(number)];
}

bool is_ignored_by_default(int number) {
  return number == SIGCHLD || number == SIGCONT || number == SIGURG || number == SIGWINCH;
}

Handler set_handler(int number, Handler handler, int flags) {
  struct sigaction* entry = disposition(*current(), number);
  if (entry == nullptr || number == SIGKILL || number == SIGSTOP) {
    errno = EINVAL;
    return SIG_ERR;
  }
  const Handler previous = entry->sa_handler;
  *entry = {};
  entry->sa_handler = handler;
  entry->sa_flags = flags;
  return previous;
}

}  // namespace

bool deliver_signal(RankProcess& process, int number, siginfo_t* info, void* context) {
  if (process.signals == nullptr) return false;
  struct sigaction* entry = disposition(process, number);
  if (entry->sa_handler == SIG_DFL) return false;
  if (entry->sa_handler == SIG_IGN) return info == nullptr;  // a fault cannot be ignored
  const struct sigaction taken = *entry;
  if ((taken.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) *entry = {};
  siginfo_t own = {};
  own.si_signo = number;
  if ((taken.sa_flags & SA_SIGINFO) != 0) {
    taken.sa_sigaction(number, info != nullptr ? info : &own, context);
  } else {
    taken.sa_handler(number);
  }
  return true;
}

extern "C" {

Handler rank_signal(int number, Handler handler) {
  if (current() == nullptr) return REAL(signal)(number, handler);
  return set_handler(number, handler, SA_RESTART);
}

Handler rank___sysv_signal(int number, Handler handler) {
  if (current() == nullptr) return REAL(signal)(number, handler);
  return set_handler(number, handler, static_cast<int>(SA_RESETHAND));
}

int rank_sigaction(int number, const struct sigaction* action, struct sigaction* previous) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(sigaction)(number, action, previous);
  struct sigaction* entry = disposition(*process, number);
  if (entry == nullptr) return fail(EINVAL);
  const struct sigaction old = *entry;
  if (action != nullptr) {
    if (number == SIGKILL || number == SIGSTOP) return fail(EINVAL);
    *entry = *action;
  }
  if (previous != nullptr) *previous = old;
  return 0;
}

int rank_raise(int number) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(raise)(number);
  if (number == 0) return 0;
  if (number < 0 || number >= NSIG) return fail(EINVAL);
  if (deliver_signal(*process, number) || is_ignored_by_default(number)) return 0;
  report_abort(*process, strsignal(number), number);
}

int rank_kill(pid_t pid, int number) {
  const RankProcess* process = current();
  if (process == nullptr) return REAL(kill)(pid, number);
  if (pid == kFirstPid + process->rank || pid == 0 || pid == REAL(getpid)())
    return rank_raise(number);
  constexpr pid_t kMostRanks = 1 << 20;
  if (pid >= kFirstPid && pid < kFirstPid + kMostRanks && number != 0) return fail(EPERM);
  return REAL(kill)(pid, number);
}

int rank_sigprocmask(int how, const sigset_t* set, sigset_t* previous) {
  if (current() == nullptr) return REAL(sigprocmask)(how, set, previous);
  if (previous != nullptr) sigemptyset(previous);
  return 0;
}

int rank_sigaltstack(const stack_t* stack, stack_t* previous) {
  if (current() == nullptr) return REAL(sigaltstack)(stack, previous);
  if (previous != nullptr) *previous = {nullptr, SS_DISABLE, 0};
  return 0;
}

unsigned int rank_alarm(unsigned int seconds) {
  return current() == nullptr ? REAL(alarm)(seconds) : 0;
}

int rank_setitimer(int which, const itimerval* value, itimerval* previous) {
  if (current() == nullptr)
    return REAL(setitimer)(static_cast<__itimer_which>(which), value, previous);
  if (previous != nullptr) *previous = {};
  return 0;
}

}  // extern "C"

void bind_signals(BindingTable& table) {
  BIND(table, signal);
  BIND_AS(table, "bsd_signal", signal);
  BIND_AS(table, "ssignal", signal);
  BIND(table, __sysv_signal);
  BIND_AS(table, "sysv_signal", __sysv_signal);
  BIND(table, sigaction);
  BIND_AS(table, "__sigaction", sigaction);
  BIND(table, raise);
  BIND_AS(table, "gsignal", raise);
  BIND(table, kill);
  BIND(table, sigprocmask);
  BIND_AS(table, "pthread_sigmask", sigprocmask);
  BIND(table, sigaltstack);
  BIND(table, alarm);
  BIND(table, setitimer);
}

}  // namespace sesame::loader
