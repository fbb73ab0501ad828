// Which MPI a statically linked program has in itself. Internal.
#pragma once

#include <string>

#include "core/base/error.h"
#include "core/loader/elf_file.h"
#include "core/loader/loader.h"

namespace sesame::loader {

// By its symbol table. An Error if it has none, or no MPI that processes can take over.
// REQUIRES: the file has no interpreter.
Result<BinaryInterface> static_interface(const std::string& name, const ElfFile& file);

// Whether its symbol table has functions of MPI.
bool defines_mpi(const ElfFile& file);

}  // namespace sesame::loader
