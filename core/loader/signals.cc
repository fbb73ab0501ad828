// Signal dispositions belong to a rank and are never installed in the kernel: a rank gets the
// signals that it sends to itself, and its faults (crash.cc). Timers and masks would act on all
// ranks at once, so calls that set them do nothing.
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/loader/bindings.h"
#include "core/loader/crash.h"
#include "core/loader/dispositions.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

using Handler = void (*)(int);

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
