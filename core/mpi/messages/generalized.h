// Generalised requests: operations that the program itself completes (MPI 4.1, section 13.2).
//
// Use: the call that completes or tests such a request calls query_generalized(), which sets the
// request's status, then free_generalized() if it also frees the request; MPI_Cancel calls
// cancel_generalized(). REQUIRES: the request's kind is kGeneralized. They run functions of the
// program on the running strand, which may call MPI; the request stays the caller's. One thread.
#pragma once

namespace sesame::mpi {

struct RequestObject;

// Each calls the program's function, if it gave one, and returns its error (an MPI error class or a
// code that the program added).
int query_generalized(RequestObject& request);
int free_generalized(RequestObject& request);
int cancel_generalized(RequestObject& request);

}  // namespace sesame::mpi
