// Generalised requests: operations that the program itself completes (MPI 4.1, section 13.2). The
// request must be of the kind kGeneralized. One thread.
#pragma once

namespace sesame::mpi {

struct RequestObject;

// Each calls the program's function, if it gave one, and returns its error (an MPI error class or a
// code that the program added).
int query_generalized(RequestObject& request);
int free_generalized(RequestObject& request);
int cancel_generalized(RequestObject& request);

}  // namespace sesame::mpi
