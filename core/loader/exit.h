// The end of a rank. Internal.
#pragma once

#include "core/loader/process.h"

namespace sesame::loader {

struct ImageGroup;

// exit(): handlers, the ends of the images, flush; then the hook.
[[noreturn]] void exit_process(RankProcess& process, int status);

// start.cc: the functions that images choose by processor, DT_INIT and DT_INIT_ARRAY of a group.
// With include_program the program's own are among them.
void run_initializers(RankProcess& process, const ImageGroup& group, bool include_program);
// DT_FINI_ARRAY and DT_FINI of one image, and of all: the program, plug-ins, libraries.
void run_finalizer(RankProcess& process, uint32_t index);
void run_finalizers(RankProcess& process);

}  // namespace sesame::loader
