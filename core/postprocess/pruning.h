// Which communication has to be kept so that a replay issues I/O at the right times: Banerjee,
// MPIOR, 2012, 2.1.6. The thesis decides while the program runs, with extra messages; here the
// complete logs of all processes are there, and nothing has to be sent.
//
// kThesis: a process wants a message logged when it has not communicated with the peer since its
// own latest I/O operation; what one side wants is kept. kCausal keeps more: what carries news of
// I/O to a process that has it from nowhere else, so that chains over a third process hold.
#pragma once

#include "core/postprocess/job.h"

namespace sesame::postprocess {

enum class Pruning { kNone, kThesis, kCausal };

// Sets send_kept, receive_kept and collective_kept of all processes. Uses up the operations of the
// surveys.
void prune(Job& job, Pruning rule);

}  // namespace sesame::postprocess
