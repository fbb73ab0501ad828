#include "core/postprocess/job.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace sesame::postprocess {
namespace {

int64_t realtime(const Identity& who) { return who.begin + who.realtime_offset; }

// Process ids are reused: of the processes with the parent's id, the parent is the one that started
// last before the child.
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

// Assigns processes to MPI programs, of which a script may have run several. All processes of a
// program have the same number of ranks and different ranks. On each node they have the same
// launcher, which is not traced.
class Worlds {
 public:
  explicit Worlds(const Job& job) {
    for (const ProcessSurvey& survey : job.surveys) {
      parents_[{survey.identity.host, survey.identity.pid}] = survey.identity.parent;
    }
  }

  size_t of(const Identity& who) {
    const int32_t launcher = launcher_of(who);
    for (size_t i = 0; i < worlds_.size(); ++i) {
      World& world = worlds_[i];
      if (world.size != who.size || world.ranks.contains(who.rank)) continue;
      if (world.launchers.try_emplace(who.host, launcher).first->second != launcher) continue;
      world.ranks.insert(who.rank);
      return i;
    }
    worlds_.push_back({who.size, {who.rank}, {{who.host, launcher}}});
    return worlds_.size() - 1;
  }
  size_t count() const { return worlds_.size(); }

 private:
  struct World {
    int32_t size;
    std::set<int32_t> ranks;
    std::map<std::string, int32_t> launchers;  // process ids, by host
  };

  // A rank may be the child of a script that the launcher started.
  int32_t launcher_of(const Identity& who) const {
    int32_t parent = who.parent;
    for (size_t steps = 0; steps < parents_.size(); ++steps) {
      auto traced = parents_.find({who.host, parent});
      if (traced == parents_.end()) break;
      parent = traced->second;
    }
    return parent;
  }

  std::map<std::pair<std::string, int32_t>, int32_t> parents_;
  std::vector<World> worlds_;
};

void name_missing_ranks(Job& job) {
  int32_t expected = 0;
  auto name_until = [&](int32_t end) {
    const int32_t last = end - 1;
    if (expected == last) {
      job.damage.push_back("rank " + std::to_string(last) + " left no trace");
    } else if (expected < last) {
      job.damage.push_back("ranks " + std::to_string(expected) + " to " + std::to_string(last) +
                           " left no trace");
    }
  };
  for (const JobProcess& process : job.processes) {
    if (process.number >= job.ranks) break;
    name_until(process.number);
    expected = process.number + 1;
  }
  name_until(job.ranks);
}

}  // namespace

// The processes of the first MPI program have their rank as number. Those of later programs follow,
// program by program; processes without MPI are last.
void number_processes(Job& job) {
  std::vector<size_t> order(job.surveys.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](size_t i) { return realtime(job.surveys[i].identity); });
  Worlds worlds(job);
  for (size_t i : order) {
    const Identity& who = job.surveys[i].identity;
    JobProcess process;
    process.survey = i;
    if (who.rank >= 0) process.world = worlds.of(who);
    if (who.rank >= 0 && process.world == 0) {
      process.number = who.rank;
      job.ranks = std::max({job.ranks, who.size, who.rank + 1});
    }
    job.processes.push_back(std::move(process));
  }
  job.worlds = worlds.count();
  std::ranges::stable_sort(job.processes, {}, [&](const JobProcess& process) {
    const int32_t rank = job.survey_of(process).identity.rank;
    return rank < 0 ? std::pair{worlds.count(), 0} : std::pair{process.world, rank};
  });
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
