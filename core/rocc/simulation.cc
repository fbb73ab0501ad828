#include "core/rocc/simulation.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/check.h"

namespace sesame::rocc {
namespace {

constexpr SimTime kWindow = SimTime::from_ns(1'000'000'000);
// The number of a node that no node has, for the streams of the main process.
constexpr uint32_t kNoNode = 0xffffffff;

// The time in [0, window) that differs by whole windows.
SimTime wrapped(SimTime time, SimTime window) {
  const int64_t rest = time.ps() % window.ps();
  return SimTime::from_ps(rest < 0 ? rest + window.ps() : rest);
}

}  // namespace

Simulation::Simulation(Model model, uint64_t seed, uint32_t replication, SimTime warm_up,
                       SimTime end)
    : model_(std::move(model)),
      warm_up_(warm_up),
      end_(end),
      main_(model_.main, {seed, replication, kNoNode, 0}, warm_up, end),
      copies_({seed, replication, kNoNode, 1}) {
  CHECK(warm_up < end);
  for (uint32_t i = 0; i < model_.detailed_nodes; ++i) {
    nodes_.push_back(std::make_unique<Node>(model_, seed, replication, i));
  }
}

void Simulation::advance(SimTime until) {
  until = std::min(until, end_);
  while (now_ < until) {
    SimTime end = std::min(until, now_ + kWindow);
    if (now_ < warm_up_) end = std::min(end, warm_up_);
    advance_window(end);
    now_ = end;
    if (now_ != warm_up_) continue;
    for (const auto& node : nodes_) node->reset();
  }
}

void Simulation::advance_window(SimTime end) {
  arriving_.clear();
  for (const auto& node : nodes_) {
    node->advance(end);
    MessageList& sent = node->messages();
    const auto base = static_cast<uint32_t>(arriving_.ages.size());
    for (Message message : sent.messages) {
      message.first += base;
      arriving_.messages.push_back(message);
    }
    arriving_.ages.insert(arriving_.ages.end(), sent.ages.begin(), sent.ages.end());
    sent.clear();
  }
  if (model_.nodes > model_.detailed_nodes) add_copies(end);
  // Stable: messages of equal times stay in the order of nodes.
  if (model_.nodes > 1) std::ranges::stable_sort(arriving_.messages, {}, &Message::time);
  for (const Message& message : arriving_.messages) {
    main_.receive(message, std::span(arriving_.ages).subspan(message.first, message.count));
  }
}

void Simulation::add_copies(SimTime end) {
  const size_t detailed = arriving_.messages.size();
  if (detailed == 0) return;
  const double others = model_.nodes - model_.detailed_nodes;
  // Nodes differ by the phase of their sampling periods, so copies are spread over one. What would
  // leave this window is as likely to come from a neighbouring one.
  const double spread_s = std::max(model_.instrumentation.sampling_period.seconds(),
                                   (end - now_).seconds() / static_cast<double>(detailed));
  const SimTime first = now_ + model_.latency;
  const SimTime window = end - now_;
  for (size_t i = 0; i < detailed; ++i) {
    copies_due_ += others / model_.detailed_nodes;
    for (; copies_due_ >= 1; copies_due_ -= 1) {
      Message copy = arriving_.messages[i];
      const double moved_s = (copies_.uniform() - 0.5) * spread_s;
      copy.time = first + wrapped((copy.time - first) + SimTime::from_seconds(moved_s), window);
      arriving_.messages.push_back(copy);
    }
  }
}

std::vector<NodeStatistics> Simulation::nodes() {
  std::vector<NodeStatistics> statistics;
  for (const auto& node : nodes_) statistics.push_back(node->statistics());
  return statistics;
}

}  // namespace sesame::rocc
