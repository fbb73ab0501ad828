// Finds which communicators of different processes are the same one. All members of a parent make
// the calls that create communicators in the same order. So the parent, the number of the call, and
// the members identify a communicator. If not all of the parent take part, the members and the
// number of such calls with these members do.
#include <algorithm>
#include <map>
#include <tuple>

#include "core/postprocess/job.h"

namespace sesame::postprocess {
namespace {

class Matcher {
 public:
  explicit Matcher(Job& job) : job_(job) {
    for (const JobProcess& process : job.processes) {
      int32_t rank = job.survey_of(process).identity.rank;
      if (rank >= 0) numbers_[{process.world, rank}] = process.number;
    }
  }

  void add(JobProcess& process) {
    const ProcessSurvey& survey = job_.survey_of(process);
    if (survey.identity.rank < 0) {
      process.comms.assign(survey.comms.size(), {});
      return;
    }
    for (const CommInstance& comm : survey.comms) process.comms.push_back(view(process, comm));
  }

 private:
  // An intercommunicator has its groups the other way round on the other side.
  using Key = std::tuple<size_t, int32_t, bool, uint32_t, Members, Members>;

  CommView view(const JobProcess& process, const CommInstance& comm) {
    int32_t parent = -1;
    if (comm.parent >= 0) parent = process.comms[static_cast<size_t>(comm.parent)].index;
    // If not all of the parent take part, the parent may differ between processes.
    Key key{
        process.world, comm.over_group ? -1 : parent,       comm.over_group,
        comm.ordinal,  std::min(comm.members, comm.remote), std::max(comm.members, comm.remote)};
    auto [entry, added] = found_.try_emplace(key, static_cast<int32_t>(job_.communicators.size()));
    if (added) make(process, comm, parent);
    int32_t index = entry->second;
    Communicator& made = *job_.communicators[static_cast<size_t>(index)];
    if (made.name.empty()) made.name = comm.name;
    const std::vector<int32_t>* peers = &made.members;
    if (!made.remote.empty()) {
      const bool here = std::ranges::find(made.members, process.number) != made.members.end();
      peers = here ? &made.remote : &made.members;
      if (!here) made.remote_parent = parent;
    }
    return {index, peers};
  }

  void make(const JobProcess& process, const CommInstance& comm, int32_t parent) {
    auto made = std::make_unique<Communicator>();
    made->parent = parent;
    made->members = processes_of(process.world, comm.members);
    made->remote = processes_of(process.world, comm.remote);
    job_.communicators.push_back(std::move(made));
  }

  std::vector<int32_t> processes_of(size_t world, const Members& members) const {
    std::vector<int32_t> processes = members.ranks();
    for (int32_t& rank : processes) {
      auto found = numbers_.find({world, rank});
      // A rank that left no trace keeps its number; in a later program it is -1.
      if (found != numbers_.end()) {
        rank = found->second;
      } else if (world > 0) {
        rank = -1;
      }
    }
    return processes;
  }

  Job& job_;
  std::map<std::pair<size_t, int32_t>, int32_t> numbers_;
  std::map<Key, int32_t> found_;
};

}  // namespace

void match_communicators(Job& job) {
  Matcher matcher(job);
  for (JobProcess& process : job.processes) matcher.add(process);
}

}  // namespace sesame::postprocess
