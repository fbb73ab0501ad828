// Computes one clock for all nodes. Each node's CLOCK_REALTIME gives a first offset. Messages
// between nodes correct it: none is received before it was sent, so each message bounds the
// difference of two clocks from one side.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/postprocess/job.h"

namespace sesame::postprocess {
namespace {

// Containers of one kernel have one clock, whatever their names.
size_t host_of(Job& job, const Identity& who) {
  auto found = std::ranges::find_if(job.clocks, [&](const HostClock& clock) {
    return clock.kernel == who.kernel && (!who.kernel.empty() || clock.host == who.host);
  });
  if (found == job.clocks.end()) {
    job.clocks.push_back({who.host, who.kernel, who.realtime_offset, 0, who.begin});
    return job.clocks.size() - 1;
  }
  // The two clocks are read one after the other: the largest difference is the truest.
  found->offset = std::max(found->offset, who.realtime_offset);
  return static_cast<size_t>(found - job.clocks.begin());
}

// A message between two nodes. It requires that the receiver's clock is advanced by at least
// `least`, relative to the sender's. All in ns; times count from `base_`.
struct Bound {
  double sent;  // by the sender's clock
  double received;
  double least;
};

// The correction of a clock: ns to add at the middle of the run, and its growth in ns per ns.
struct Line {
  double at_middle = 0;
  double slope = 0;

  double at(double from_middle) const { return at_middle + slope * from_middle; }
};

class Corrector {
 public:
  explicit Corrector(Job& job) : job_(job), lines_(job.clocks.size()) {
    for (size_t i = 0; i < job.processes.size(); ++i) indices_[job.processes[i].number] = i;
  }

  void run() {
    collect();
    if (bounds_.empty()) return;
    find_middle();
    spread();
    settle();
    apply();
  }

 private:
  using Pair = std::pair<size_t, size_t>;  // sender's node, receiver's node

  void collect() {
    for (const JobProcess& receiver : job_.processes) {
      const auto& receives = job_.survey_of(receiver).receives;
      for (size_t c = 0; c < receives.size(); ++c) {
        const ChannelEnd& end = receiver.senders[c];
        if (end.process < 0) continue;
        const JobProcess& sender = job_.processes[indices_.at(end.process)];
        if (sender.host == receiver.host) continue;
        add(sender, job_.survey_of(sender).sends[end.channel], receiver, receives[c]);
      }
    }
  }
  void add(const JobProcess& sender, const Channel& sent, const JobProcess& receiver,
           const Channel& received) {
    const HostClock& from = job_.clocks[sender.host];
    const HostClock& to = job_.clocks[receiver.host];
    std::vector<Bound>& bounds = bounds_[{sender.host, receiver.host}];
    const size_t messages = std::min(sent.times.size(), received.times.size());
    for (size_t i = 0; i < messages; ++i) {
      const int64_t begin = from.at(sent.times[i]);
      const int64_t end = to.at(received.times[i]);
      if (base_ == 0) base_ = begin;
      bounds.push_back({static_cast<double>(begin - base_), static_cast<double>(end - base_),
                        static_cast<double>(begin - end)});
    }
  }

  void find_middle() {
    double first = INFINITY;
    double last = -INFINITY;
    for (const auto& [pair, bounds] : bounds_) {
      for (const Bound& bound : bounds) {
        first = std::min(first, bound.sent);
        last = std::max(last, bound.sent);
      }
    }
    middle_ = (first + last) / 2;
    half_ = std::max((last - first) / 2, 1.0);
  }

  struct Range {
    double least = -INFINITY;
    double most = INFINITY;
    double width() const { return most - least; }
    double middle() const {
      if (std::isinf(least) && std::isinf(most)) return 0;
      if (std::isinf(most)) return std::max(least, 0.0);
      if (std::isinf(least)) return std::min(most, 0.0);
      return (least + most) / 2;
    }
  };

  // By how much the clock of `b` must be advanced relative to that of `a`, from the messages of a
  // part of the run. `from` and `until` count from the middle of the run.
  Range range(size_t a, size_t b, double from, double until) const {
    Range range;
    auto visit = [&](const Pair& pair, auto take) {
      auto found = bounds_.find(pair);
      if (found == bounds_.end()) return;
      for (const Bound& bound : found->second) {
        if (bound.sent - middle_ >= from && bound.sent - middle_ <= until) take(bound.least);
      }
    };
    visit({a, b}, [&](double least) { range.least = std::max(range.least, least); });
    visit({b, a}, [&](double least) { range.most = std::min(range.most, -least); });
    return range;
  }

  // The correction of `b` relative to `a`. The first and the last third of the run give its slope
  // if both have messages in both directions; else the slope is 0.
  Line line(size_t a, size_t b) const {
    const Range first = range(a, b, -half_, -half_ / 3);
    const Range last = range(a, b, half_ / 3, half_);
    if (std::isinf(first.width()) || std::isinf(last.width())) {
      return {range(a, b, -half_, half_).middle(), 0};
    }
    const double distance = 4 * half_ / 3;
    return {(first.middle() + last.middle()) / 2, (last.middle() - first.middle()) / distance};
  }

  // Sets the lines of all nodes. The node of the first process keeps its clock; from there, always
  // the pair with the closest bounds is next.
  void spread() {
    std::vector<bool> known(lines_.size(), false);
    known[job_.processes.front().host] = true;
    while (true) {
      Pair best{0, 0};
      double least = INFINITY;
      bool found = false;
      for (const auto& [pair, bounds] : bounds_) {
        auto [a, b] = known[pair.first] ? pair : Pair{pair.second, pair.first};
        if (!known[a] || known[b]) continue;
        const double width = range(a, b, -half_, half_).width();
        if (found && width >= least) continue;
        best = {a, b};
        least = width;
        found = true;
      }
      if (!found) return;
      auto [a, b] = best;
      const Line difference = line(a, b);
      lines_[b] = {lines_[a].at_middle + difference.at_middle, lines_[a].slope + difference.slope};
      known[b] = true;
    }
  }

  // Advances clocks by the least amounts with which no message is received before it was sent. If
  // there are none, adds a line to Job::damage.
  void settle() {
    std::vector<double> shifts(lines_.size(), 0);
    for (size_t round = 0; round <= lines_.size(); ++round) {
      bool moved = false;
      for (const auto& [pair, bounds] : bounds_) {
        const Line& from = lines_[pair.first];
        const Line& to = lines_[pair.second];
        double least = -INFINITY;
        for (const Bound& bound : bounds) {
          const double ahead = to.at(bound.received - middle_) - from.at(bound.sent - middle_);
          least = std::max(least, bound.least - ahead);
        }
        const double missing = shifts[pair.first] + least - shifts[pair.second];
        if (missing <= 0) continue;
        shifts[pair.second] += missing + 1;
        moved = true;
      }
      if (!moved) break;
      if (round == lines_.size()) {
        job_.damage.push_back(
            "the clocks of the nodes disagree: some messages seem to be received "
            "before they were sent");
      }
    }
    for (size_t i = 0; i < lines_.size(); ++i) lines_[i].at_middle += shifts[i];
  }

  void apply() {
    for (size_t i = 0; i < lines_.size(); ++i) {
      HostClock& clock = job_.clocks[i];
      clock.origin = base_ + static_cast<int64_t>(middle_) - clock.offset;
      clock.offset += static_cast<int64_t>(std::llround(lines_[i].at_middle));
      clock.drift = lines_[i].slope;
    }
  }

  Job& job_;
  std::map<int32_t, size_t> indices_;
  std::map<Pair, std::vector<Bound>> bounds_;
  std::vector<Line> lines_;  // by node
  int64_t base_ = 0;         // times of bounds count from here
  double middle_ = 0;
  double half_ = 1;
};

}  // namespace

void set_clocks(Job& job) {
  for (JobProcess& process : job.processes) {
    process.host = host_of(job, job.survey_of(process).identity);
  }
  if (job.clocks.size() > 1) Corrector(job).run();
  std::vector<std::pair<const HostClock*, const Identity*>> timed;
  for (const JobProcess& process : job.processes) {
    const ProcessSurvey& survey = job.survey_of(process);
    if (survey.has_times()) timed.push_back({&job.clocks[process.host], &survey.identity});
  }
  if (timed.empty()) return;
  job.first_realtime = INT64_MAX;
  for (auto [clock, who] : timed) {
    job.first_realtime = std::min(job.first_realtime, clock->at(who->begin));
  }
  for (HostClock& clock : job.clocks) clock.offset -= job.first_realtime;
  for (auto [clock, who] : timed) job.end = std::max(job.end, clock->at(who->end));
}

}  // namespace sesame::postprocess
