// Symbol resolution, done once for all ranks: writes into the templates what is the same for every
// copy, and lists the rest as fix-ups.
#pragma once

#include "core/base/error.h"
#include "core/loader/images.h"

namespace sesame::loader {

// Applies the relocations of the group's images to their templates and fills the group's lists. A
// symbol is searched in the images of `scope` in order, the rank's variables, the loader's versions
// of C library functions, the simulator's own exports (MPI), and last the shared libraries. A
// function found nowhere is bound to a stub that aborts the job with its name when called; a
// missing variable is an Error.
Result<> resolve(ImageSet& set, const Program& program, ImageGroup& group,
                 const std::vector<uint32_t>& scope);

// The address of a symbol that no image defines: the loader's version of a function, the
// simulator's own export, or that of a shared library. Null when there is none.
void* find_outside_images(const char* name);

// Whether it may be a name of MPI_Cancel, for C or Fortran: it contains "mpi_cancel", in capitals
// or not.
bool is_name_of_cancel(std::string_view name);

// Whether the program or library refers to such a name for itself. The Fortran layer of an MPI does
// so only for those that refer to its own names.
bool calls_cancel(const ElfFile& file);

// Marks the module numbers of copies in calls of __tls_get_addr; the low 32 bits are the image.
inline constexpr uint64_t kThreadModule = uint64_t{0x5e5a} << 48;

}  // namespace sesame::loader
