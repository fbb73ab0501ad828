// Threads and thread-local variables of programs. Internal.
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
