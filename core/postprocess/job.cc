#include "core/postprocess/job.h"

#include <algorithm>
#include <map>

namespace sesame::postprocess {
namespace {

int64_t realtime(const Identity& who) { return who.begin + who.realtime_offset; }

// A process id may stand for several programs, one after the other: the parent is the one that
// had begun last.
int32_t parent_of(const Job& job, const JobProcess& process) {
  const Identity& child = job.survey_of(process).identity;
  int32_t parent = -1;
  int64_t latest = INT64_MIN;
  for (const JobProcess& other : job.processes) {
    const Identity& who = job.survey_of(other).identity;
    if (who.pid != child.parent || who.host != child.host) continue;
    if (who.begin > child.begin || who.begin < latest) continue;
    parent = other.number;
    latest = who.begin;
  }
  return parent;
}

void name_missing_ranks(Job& job) {
  int32_t expected = 0;
  for (const JobProcess& process : job.processes) {
    if (process.number >= job.ranks) break;
    for (; expected < process.number; ++expected) {
      job.damage.push_back("rank " + std::to_string(expected) + " left no trace");
    }
    ++expected;
  }
  for (; job.ranks > 0 && expected < job.ranks; ++expected) {
    job.damage.push_back("rank " + std::to_string(expected) + " left no trace");
  }
}

}  // namespace

// Processes of MPI_COMM_WORLD have their rank as number. The n-th process with a rank belongs to
// the n-th MPI program; only those of the first have their rank as number.
void number_processes(Job& job) {
  std::vector<size_t> order(job.surveys.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](size_t i) { return realtime(job.surveys[i].identity); });
  std::map<int32_t, size_t> worlds;
  for (size_t i : order) {
    const Identity& who = job.surveys[i].identity;
    JobProcess process;
    process.survey = i;
    if (who.rank >= 0) process.world = worlds[who.rank]++;
    if (who.rank >= 0 && process.world == 0) {
      process.number = who.rank;
      job.ranks = std::max({job.ranks, who.size, who.rank + 1});
    }
    job.processes.push_back(std::move(process));
  }
  int32_t next = job.ranks;
  for (JobProcess& process : job.processes) {
    if (process.number < 0) process.number = next++;
  }
  std::ranges::sort(job.processes, {}, &JobProcess::number);
  for (JobProcess& process : job.processes) process.parent = parent_of(job, process);
  name_missing_ranks(job);
}

Job make_job(std::vector<ProcessSurvey> surveys) {
  Job job;
  job.surveys = std::move(surveys);
  number_processes(job);
  match_communicators(job);
  match_messages(job);
  set_clocks(job);
  return job;
}

}  // namespace sesame::postprocess
