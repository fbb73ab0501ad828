// The end of a rank. Internal.
#pragma once

#include "core/loader/process.h"

namespace sesame::loader {

struct ImageGroup;

// What exit() does: runs handlers and finalizers, flushes, and calls SimulationHooks::exit_rank.
[[noreturn]] void exit_process(RankProcess& process, int status);

// start.cc: runs the resolvers of a group's IFUNC symbols, then DT_INIT and DT_INIT_ARRAY of its
// images; those of the program only with include_program.
void run_initializers(RankProcess& process, const ImageGroup& group, bool include_program);
// Run DT_FINI_ARRAY and DT_FINI of one image; of all: the program, plug-ins, libraries.
void run_finalizer(RankProcess& process, uint32_t index);
void run_finalizers(RankProcess& process);

}  // namespace sesame::loader
