// The shared libraries that a program needs (the closure of DT_NEEDED), and which of them get a
// copy for each rank. The real dynamic loader lists their paths without executing the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/loader/elf_file.h"
#include "core/loader/loader.h"

namespace sesame::loader {

enum class MpiFamily { kNone, kMpich, kMpiStandard, kOpenMpi, kOldOpenMpi };

// The MPI implementation that a library of this name belongs to. Our own definitions take its
// place. Language layers on top of it (libmpichfort) are kNone.
MpiFamily mpi_family(std::string_view library_name);

// Whether a library of this name or path is the layer of an MPI that Fortran programs call.
bool is_fortran_layer(std::string_view library_name);

struct Closure {
  std::vector<Library> libraries;          // breadth first, without the MPI libraries
  std::vector<std::string> mpi_libraries;  // names, in the order found
  std::vector<std::string> mpi_users;      // which library needs each; empty: the program
  std::vector<std::string> missing;        // names, MPI libraries not counted
  // Whether the program, or a library that needs MPI, names Open MPI's predefined handles.
  bool names_open_mpi_handles = false;
};

// Refuses a plug-in that needs an MPI of another binary interface than the program's, `interface`;
// the Error is one sentence.
Result<> check_same_mpi(const Closure& plugin, const std::string& path, BinaryInterface interface);

// The libraries that the program needs, as the dynamic loader finds them: pairs of name and path.
// The path of a library that is not found is empty. `interpreter` is the path of the dynamic
// loader. `preloaded`, when not empty, is a further library, searched as if the program opened it
// by this name.
Result<std::vector<std::pair<std::string, std::string>>> list_libraries(
    const ElfFile& program, const std::string& interpreter, const std::string& preloaded = {});

// Walks DT_NEEDED from the program or plug-in. MPI libraries are listed, not followed.
Result<Closure> find_closure(const ElfFile& program, const std::string& interpreter,
                             const std::vector<std::string>& private_patterns);

// Whether one copy of the library serves all ranks whatever opens it: libraries of the system, and
// those that start threads of their own.
bool is_always_shared(std::string_view library_name);

}  // namespace sesame::loader
