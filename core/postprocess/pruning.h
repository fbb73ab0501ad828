// Decides which communication a replay needs to issue I/O at the right times: Banerjee, MPIOR,
// 2012, 2.1.6. The thesis decides while the program runs, with extra messages. Here the records of
// all processes are available, so their operations are stepped through afterwards: each process
// advances until it needs a message or a collective call that others have not reached.
//
// kThesis: a process requests a message when it has not communicated with the peer since its own
// latest I/O operation; a message is kept if either side requests it. kCausal keeps more: every
// message or collective call that carries knowledge of I/O (how many I/O operations of each process
// precede it, a vector clock) to a process that does not have it, so that chains over a third
// process are kept.
#pragma once

#include "core/postprocess/job.h"

namespace sesame::postprocess {

enum class Pruning { kNone, kThesis, kCausal };

// Sets send_kept, receive_kept and collective_kept of all processes. Uses up the operations of the
// surveys.
void prune(Job& job, Pruning rule);

}  // namespace sesame::postprocess
