// The second reading of a process: makes its rows, when the whole job is known.
#pragma once

#include <string>

#include "core/postprocess/job.h"
#include "core/postprocess/process_rows.h"

namespace sesame::postprocess {

// Reads the streams of one process and returns its rows. `prune`: leave out the communication that
// prune() did not keep. `directory` is for the rows of large processes; empty: all in memory. Safe
// to call for several processes at the same time. Damaged streams give the rows before the damage.
ProcessRows read_rows(const trace::TracedFiles& files, const Job& job, const JobProcess& process,
                      const CallTraits& traits, const OwnCalls& calls, bool prune,
                      const std::string& directory);

}  // namespace sesame::postprocess
