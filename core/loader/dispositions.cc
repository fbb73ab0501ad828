#include "core/loader/dispositions.h"

#include <array>
#include <cstring>
#include <memory>

namespace sesame::loader {

struct sigaction* disposition(RankProcess& process, int number) {
  if (number <= 0 || number >= NSIG) return nullptr;
  if (process.signals == nullptr) {
    process.signals = std::make_unique<std::array<struct sigaction, NSIG>>();
    memset(process.signals->data(), 0, sizeof *process.signals);
  }
  return &(*process.signals)[static_cast<size_t>(number)];
}

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

}  // namespace sesame::loader
