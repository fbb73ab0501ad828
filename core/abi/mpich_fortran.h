// The part of a rank's Fortran state that MPICH's Fortran layer keeps in variables of the C library,
// that is, in two variables that all ranks in this process share. Every rank's copy of the layer
// stores the addresses of its own variables there, so whoever switches between ranks of a Fortran
// program saves the one's and loads the other's. Without that a rank's MPI_STATUSES_IGNORE is taken
// for an array of statuses and written to.
#pragma once

namespace sesame::abi {

struct FortranState {
  int* status_ignore = nullptr;
  int* statuses_ignore = nullptr;
};

void save_fortran_state(FortranState* state);
void load_fortran_state(const FortranState& state);

}  // namespace sesame::abi
