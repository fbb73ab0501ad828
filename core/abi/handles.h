// What a binary interface prepares for the ranks of a program. Each interface defines it.
//
// Use: core/sim sets ProgramTables::handles to it when it begins a rank, whose process, address
// and loaded program must be set. The interface owns the result, which lives as long as the run.
// One thread.
#pragma once

namespace sesame::mpi {
struct Rank;
}

namespace sesame::abi {

// The translation of predefined handles for all ranks of this rank's program; null for interfaces
// whose handles do not depend on the program.
const void* handles_of_program(const mpi::Rank& rank);

}  // namespace sesame::abi
