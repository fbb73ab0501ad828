// The end of a rank. Internal.
#pragma once

#include "core/loader/process.h"

namespace sesame::loader {

// exit(): handlers, the ends of the images, flush; then the hook.
[[noreturn]] void exit_process(RankProcess& process, int status);

// start.cc: DT_INIT and DT_INIT_ARRAY, DT_FINI and DT_FINI_ARRAY of the rank's images. With
// include_program the program's own are among them.
void run_initializers(RankProcess& process, bool include_program, int argc, char** argv);
void run_finalizers(RankProcess& process);

}  // namespace sesame::loader
