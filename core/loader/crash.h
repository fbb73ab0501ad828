// The end of a rank by a signal. Internal.
#pragma once

#include "core/loader/process.h"

namespace sesame::loader {

// abort() was called, or a signal ends the rank by its default action. `what` names it; null for
// abort(). One message, then the job ends with status 128 + signal.
[[noreturn]] void report_abort(RankProcess& process, const char* what, int signal_number = 6);

}  // namespace sesame::loader
