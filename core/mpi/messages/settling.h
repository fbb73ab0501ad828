// What a call that waits (waiting.h) tells Matching of its receives. In awaited_matching.cc, above
// the unit of waiting.h, since it looks at the rank. Nothing fails. One thread.
#pragma once

#include <span>

namespace sesame::mpi {

struct RequestObject;
struct Strand;

// The strand waits for all these requests, so the program does not cancel its receives among them:
// from now on these match at once (Matching::settle()). Skips null, inactive and complete ones.
// Changes nothing where another thread of the rank may cancel.
void settle_receives(Strand& strand, std::span<RequestObject* const> requests);

}  // namespace sesame::mpi
