// The end of a rank by a signal. Internal.
#pragma once

#include "core/loader/process.h"

namespace sesame::loader {

// For a rank that calls abort(), or that a signal ends by its default action. `what` is the name of
// the signal, null for abort(). Prints one message, then ends the job with status 128 + signal.
// In a child that the rank has forked, ends that child by the signal.
[[noreturn]] void report_abort(RankProcess& process, const char* what, int signal_number = 6);

}  // namespace sesame::loader
