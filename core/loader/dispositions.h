// What a rank does on a signal: its dispositions, which are never installed in the kernel.
// Internal.
#pragma once

#include <sys/types.h>
#include <ucontext.h>

#include <csignal>

#include "core/loader/process.h"

namespace sesame::loader {

// getpid() of rank 0; rank r has kFirstPid + r.
inline constexpr pid_t kFirstPid = 10000;

// What the rank has set for a signal; null when there is no such signal.
struct sigaction* disposition(RankProcess& process, int number);

// Calls the rank's own handler. False when it has none: the default action is the caller's.
bool deliver_signal(RankProcess& process, int number, siginfo_t* info = nullptr,
                    void* context = nullptr);

}  // namespace sesame::loader
