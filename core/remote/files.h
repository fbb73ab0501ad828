// The simulator's side of POSIX and stdio calls of ranks that are processes. Their processes run
// the code that ranks in one process run (core/loader/files.h), on descriptors of their own for the
// host's files that have the bytes; they ask here what paths mean, and for the simulated time.
#pragma once

#include "core/loader/file_hooks.h"
#include "core/remote/messages.h"
#include "core/remote/process.h"

namespace sesame::remote {

// Before the first rank runs. Null: there are no simulated file systems.
void start_files(const loader::FileHooks* hooks);

// For the reply to kHello: where file systems are mounted.
void describe_files(Writer& reply);
// Serves the calls of a request, which are `header.function`; the reply has their results.
void serve_files(Channel& channel, const Header& header, Reader values, Writer& reply);
// Another process has become the rank: what the one before had open is closed.
void begin_files(Process& process);
// As the program sees it; empty if it is not known.
std::string working_directory(const Process& process);
// Closes what a process that has ended has left open.
void close_files(Process& process);

}  // namespace sesame::remote
