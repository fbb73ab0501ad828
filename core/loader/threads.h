// Threads and thread-local variables of programs. Internal.
//
// A rank may start threads. They run in parallel with the simulation, in host time; no rank is
// active in them and they cannot call MPI. Each has its own thread-local variables, as does each
// rank: those of the program in the window below the thread pointer (images.h, thread_block.h),
// others in blocks that are made at the first access.
//
// load() fills a rank's window, a thread's own start function that of the thread, dlopen() that of
// a further image. thread_local_address() serves __tls_get_addr and may be called by a rank or by a
// thread that a rank started (a CHECK). Nothing fails: ProgramImage::open() and dlopen()
// have checked that the window is large enough.
#pragma once

#include "core/loader/process.h"

namespace sesame::loader {

// Writes the first values of the rank's thread-local variables into the window below a thread
// pointer: the rank's own, or that of a thread that it started.
void fill_thread_window(const RankProcess& process, char* thread_pointer);
// The same for one image.
void fill_thread_window(const RankProcess& process, uint32_t image, char* thread_pointer);

// The address of a thread-local variable of the rank's image for the running thread.
void* thread_local_address(uint32_t image, uint64_t offset);

// The rank that started the running thread; null in the simulator's own.
const RankProcess* owner_of_thread();

}  // namespace sesame::loader
