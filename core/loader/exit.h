// Constructors, finalizers and the end of a rank. Internal.
//
// All of these run code of the program: call them with the rank active, on its own stack. Order:
// run_initializers() before main and at dlopen(), run_finalizer() at dlclose(), exit_process()
// once, when main returns or calls exit(). Handlers and finalizers may switch to other ranks,
// register more handlers or call exit() again, which runs the remaining ones.
#pragma once

#include "core/loader/process.h"

namespace sesame::loader {

struct ImageGroup;

// What exit() does: runs the handlers of thread-local objects, then those of exit(), each last
// registered first, then run_finalizers(); flushes streams and calls SimulationHooks::exit_rank.
[[noreturn]] void exit_process(RankProcess& process, int status);

// start.cc: runs the resolvers of a group's IFUNC symbols, then DT_INIT and DT_INIT_ARRAY of its
// images; those of the program only with include_program.
void run_initializers(RankProcess& process, const ImageGroup& group, bool include_program);
// Run DT_FINI_ARRAY and DT_FINI of one image; of all: the program, plug-ins, libraries.
void run_finalizer(RankProcess& process, uint32_t index);
void run_finalizers(RankProcess& process);

}  // namespace sesame::loader
