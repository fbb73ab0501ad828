// One clock for all nodes.
#include <algorithm>

#include "core/postprocess/job.h"

namespace sesame::postprocess {
namespace {

size_t host_of(Job& job, const Identity& who) {
  auto found = std::ranges::find(job.clocks, who.host, &HostClock::host);
  if (found == job.clocks.end()) {
    job.clocks.push_back({who.host, who.realtime_offset, 0, who.begin});
    return job.clocks.size() - 1;
  }
  // The two clocks are read one after the other: the largest difference is the truest.
  found->offset = std::max(found->offset, who.realtime_offset);
  return static_cast<size_t>(found - job.clocks.begin());
}

}  // namespace

void set_clocks(Job& job) {
  for (JobProcess& process : job.processes) {
    process.host = host_of(job, job.survey_of(process).identity);
  }
  job.first_realtime = INT64_MAX;
  for (const JobProcess& process : job.processes) {
    const Identity& who = job.survey_of(process).identity;
    job.first_realtime = std::min(job.first_realtime, job.clocks[process.host].at(who.begin));
  }
  for (HostClock& clock : job.clocks) clock.offset -= job.first_realtime;
  for (const JobProcess& process : job.processes) {
    const Identity& who = job.survey_of(process).identity;
    job.end = std::max(job.end, job.clocks[process.host].at(who.end));
  }
}

}  // namespace sesame::postprocess
