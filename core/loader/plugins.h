// Plug-ins: libraries that a rank opens while it runs (dlopen). Each rank has its own copy of them
// and of the libraries that they need, by the rules of linked libraries (closure.h). Ranks that
// open a plug-in while the same images are loaded share its prepared images. Internal; for the
// active rank, on its own stack.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/loader/process.h"

namespace sesame::loader {

Plugins& plugins_of(RankProcess& process);

// Does what dlopen does. Returns a handle of ours, or of the C library if one copy of the library
// serves all ranks; null with RTLD_NOLOAD when the rank does not have it. `caller` is the image
// that calls dlopen.
Result<void*> open_plugin(RankProcess& process, const char* name, int flags, uint32_t caller);

// Null when the handle is not one of ours.
OpenLibrary* opened_library(const RankProcess& process, const void* handle);
void close_plugin(RankProcess& process, OpenLibrary& library);

// The images in which symbols are searched, in order: of the whole program; and of a handle,
// breadth first.
std::vector<uint32_t> global_scope(const RankProcess& process);
std::vector<uint32_t> scope_of(const RankProcess& process, uint32_t image);

// Runs the finalizers of the plug-ins that are still open, at the end of the rank.
void run_plugin_finalizers(RankProcess& process);

}  // namespace sesame::loader
