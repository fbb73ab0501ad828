// Calls between a statically linked program and the libraries of its rank, which are in one process
// (core/remote/static). Each has a C library of its own, so each has its own thread pointer (FS
// base) and its own errno. The GS base, which neither uses, is the address of what a switch needs.
// docs/decisions/0062-static-executables.md
//
// Use: start_switching() once, before the program starts. A call of the program jumps to
// sesame_static_enter with the address of our function in %r11; arguments and results are those of
// the function. sesame_rank_callable() is for calls the other way. One thread.
#pragma once

#include <cstdint>

#include "core/remote/program/shared.h"

namespace sesame::remote {

// static_switch_x86_64.S knows the offsets.
struct StaticSwitch {
  uint64_t top = 0;              // after the last of the calls that have not returned
  uint64_t own_pointer = 0;      // thread pointer of our C library
  uint64_t own_errno = 0;        // address
  int64_t program_errno = 0;     // from the program's thread pointer
  uint64_t function = 0;         // of the program, to be called next
  uint64_t program_pointer = 0;  // thread pointer of the program; 0: it has made no call yet
  uint64_t handlers[65] = {};    // of signals, by number: the program's
};

// A call that has not returned.
struct SwitchedCall {
  uint64_t return_address;
  uint64_t stack;  // the stack pointer after it
  uint64_t scratch[2];
};

// `program_errno`: its distance from the program's thread pointer.
SESAME_SHARED void sesame_rank_start_switching(int64_t program_errno);
// Null: the program is linked dynamically.
SESAME_SHARED StaticSwitch* sesame_rank_switch();

// Jumped to, not called from C++.
SESAME_SHARED void sesame_static_enter();
SESAME_SHARED void sesame_static_leave();
// The handler of all signals that the program handles.
SESAME_SHARED void sesame_static_signal();

// What to call in place of this function of the program, at once, with the same arguments.
SESAME_SHARED void* sesame_rank_callable(void* function);
// The address after the program's call of MPI, if `seen` is the return address that MPI has seen.
SESAME_SHARED const void* sesame_rank_call_site(const void* seen);

}  // namespace sesame::remote
