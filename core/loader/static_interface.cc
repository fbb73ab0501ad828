#include "core/loader/static_interface.h"

#include <algorithm>
#include <string_view>

namespace sesame::loader {
namespace {

// Whether it defines a name that begins so.
bool defines(const ElfFile& file, std::string_view begin) {
  return std::ranges::any_of(file.full_symbols(), [&](const Elf64_Sym& symbol) {
    return symbol.st_shndx != SHN_UNDEF &&
           std::string_view(file.full_name_of(symbol)).starts_with(begin);
  });
}

}  // namespace

bool defines_mpi(const ElfFile& file) { return defines(file, "PMPI_"); }

Result<BinaryInterface> static_interface(const std::string& name, const ElfFile& file) {
  const std::string program = "'" + name + "' is statically linked";
  const char* const relink = "relink it without -static, against the shared MPI library";
  if (file.full_symbols().empty())
    return error(program + " and has no symbol table, which tells where its calls of MPI are",
                 "link it without -s and do not strip it, or link it without -static");
  if (!defines_mpi(file))
    return error(program + " and not an MPI program: it defines no function of MPI",
                 "build it with an MPI compiler, for instance mpicc");
  if (defines(file, "ompi_mpi_comm_world"))
    return error(program + " with Open MPI, expected MPICH or one with its binary interface",
                 relink);
  // The beginning of names within MPICH and its kin.
  if (!defines(file, "MPIR_"))
    return error(program +
                     " with an MPI that is not known, expected MPICH or one with its binary "
                     "interface",
                 relink);
  // As the dynamic loader's, in all of the GNU C library's executables, and in no other one's.
  if (!defines(file, "__libc_setup_tls"))
    return error(program + " with another C library, expected the GNU C library", relink);
  return BinaryInterface::kMpich;
}

}  // namespace sesame::loader
