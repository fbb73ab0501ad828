// Generalised requests: operations that the program itself completes (MPI 4.1, section 13.2).
#pragma once

namespace sesame::mpi {

struct RequestObject;

// Call the program's functions; return their error.
int query_generalized(RequestObject& request);
int free_generalized(RequestObject& request);
int cancel_generalized(RequestObject& request);

}  // namespace sesame::mpi
