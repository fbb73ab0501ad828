#include "core/postprocess/job.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace sesame::postprocess {
namespace {

int64_t realtime(const Identity& who) { return who.begin + who.realtime_offset; }

// Where process ids are unique.
using PidSpace = std::pair<std::string, uint64_t>;

PidSpace pid_space_of(const Identity& who) { return {who.host, who.pid_namespace}; }

// Process ids are reused: of the processes with the parent's id, the parent is the one that started
// last before the child.
int32_t parent_of(const Job& job, const JobProcess& process) {
  const Identity& child = job.survey_of(process).identity;
  int32_t parent = -1;
  int64_t latest = INT64_MIN;
  for (const JobProcess& other : job.processes) {
    const Identity& who = job.survey_of(other).identity;
    if (who.pid != child.parent || pid_space_of(who) != pid_space_of(child)) continue;
    if (who.begin > child.begin || who.begin < latest) continue;
    parent = other.number;
    latest = who.begin;
  }
  return parent;
}

// Assigns processes to MPI programs, of which a script may have run several. All processes of a
// program have the same number of ranks and different ranks. The launcher's name of the program
// decides where it is known; else they have the same launcher, which is not traced, on each node.
class Worlds {
 public:
  explicit Worlds(const Job& job) {
    for (const ProcessSurvey& survey : job.surveys) {
      parents_[{pid_space_of(survey.identity), survey.identity.pid}] = survey.identity.parent;
    }
  }

  size_t of(const Identity& who) {
    const int32_t launcher = launcher_of(who);
    for (size_t i = 0; i < worlds_.size(); ++i) {
      World& world = worlds_[i];
      if (world.size != who.size || world.ranks.contains(who.rank)) continue;
      if (world.job != who.job) continue;
      const int32_t known = world.launchers.try_emplace(pid_space_of(who), launcher).first->second;
      if (who.job.empty() && known != launcher) continue;
      world.ranks.insert(who.rank);
      return i;
    }
    worlds_.push_back({who.size, who.job, {who.rank}, {{pid_space_of(who), launcher}}});
    return worlds_.size() - 1;
  }
  size_t count() const { return worlds_.size(); }

 private:
  struct World {
    int32_t size;
    std::string job;  // empty: the launcher does not say
    std::set<int32_t> ranks;
    std::map<PidSpace, int32_t> launchers;  // process ids
  };

  // A rank may be the child of a script that the launcher started.
  int32_t launcher_of(const Identity& who) const {
    int32_t parent = who.parent;
    for (size_t steps = 0; steps < parents_.size(); ++steps) {
      auto traced = parents_.find({pid_space_of(who), parent});
      if (traced == parents_.end()) break;
      parent = traced->second;
    }
    return parent;
  }

  std::map<std::pair<PidSpace, int32_t>, int32_t> parents_;
  std::vector<World> worlds_;
};

// Where the first record of a process is lost, its kernel is unknown: assumes that of the first
// process on a node of the same name.
void assume_kernels(Job& job) {
  std::map<std::string, const Identity*> known;  // by name of the node
  for (const ProcessSurvey& survey : job.surveys) {
    if (!survey.identity.kernel.empty()) known.try_emplace(survey.identity.host, &survey.identity);
  }
  for (ProcessSurvey& survey : job.surveys) {
    Identity& who = survey.identity;
    const auto other = known.find(who.host);
    if (!who.kernel.empty() || other == known.end()) continue;
    who.kernel = other->second->kernel;
    who.pid_namespace = other->second->pid_namespace;
  }
}

// Nodes may have the same name. The second one that is called "node" becomes "node (2)".
void name_nodes(Job& job) {
  std::map<std::string, std::vector<std::string>> kernels;  // by name of the node
  for (ProcessSurvey& survey : job.surveys) {
    Identity& who = survey.identity;
    std::vector<std::string>& known = kernels[who.host];
    const auto found = std::ranges::find(known, who.kernel);
    const auto index = found - known.begin();
    if (found == known.end()) known.push_back(who.kernel);
    if (index > 0) who.host += " (" + std::to_string(index + 1) + ")";
  }
}

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
  assume_kernels(job);
  name_nodes(job);
  number_processes(job);
  match_communicators(job);
  match_messages(job);
  set_clocks(job);
  return job;
}

}  // namespace sesame::postprocess
