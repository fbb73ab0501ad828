#include "core/machine/placement.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <numeric>

namespace sesame::machine {
namespace {

std::unexpected<Error> too_many_ranks(const Machine& machine, int ranks) {
  return error_at(machine.path, machine.size_line,
                  std::to_string(ranks) + " ranks do not fit on " + machine.name + ": it has " +
                      std::to_string(machine.nodes) + (machine.nodes == 1 ? " node" : " nodes") +
                      " of " + std::to_string(machine.cores) +
                      (machine.cores == 1 ? " core" : " cores") + ", enough for " +
                      std::to_string(machine.capacity()) + " ranks",
                  "take fewer ranks, or enlarge the machine: override nodes or the topology, or "
                  "node.cores");
}

std::string_view without_comment(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
}

Result<int> read_node(std::string_view text, const Machine& machine, const std::string& path,
                      int line) {
  int node = -1;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), node);
  if (status != std::errc() || end != text.data() + text.size() || node < 0 ||
      node >= machine.nodes) {
    return error_at(path, line,
                    "no such node, expected a whole number from 0 to " +
                        std::to_string(machine.nodes - 1) + ", got \"" + std::string(text) + "\"");
  }
  return node;
}

Result<std::vector<int>> read_placement(const Machine& machine, int ranks,
                                        const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return error_at(path, 0, std::string("cannot read the placement: ") + std::strerror(errno),
                    "a placement is \"block\", \"cyclic\" or a file with one node index per line");
  }
  std::vector<int> nodes;
  std::vector<int> taken(static_cast<size_t>(machine.nodes), 0);
  std::string text;
  int line = 0;
  while (nodes.size() < static_cast<size_t>(ranks) && std::getline(file, text)) {
    ++line;
    const std::string_view body = without_comment(text);
    if (body.empty()) continue;
    const auto node = read_node(body, machine, path, line);
    if (!node) return std::unexpected(node.error());
    if (++taken[static_cast<size_t>(*node)] > machine.cores) {
      return error_at(path, line,
                      "rank " + std::to_string(nodes.size()) + " does not fit: node " +
                          std::to_string(*node) + " has " + std::to_string(machine.cores) +
                          (machine.cores == 1 ? " core, already taken" : " cores, all taken"));
    }
    nodes.push_back(*node);
  }
  if (nodes.size() < static_cast<size_t>(ranks)) {
    return error_at(path, line,
                    "the placement ends too early, expected a node for each of " +
                        std::to_string(ranks) + " ranks, got " + std::to_string(nodes.size()));
  }
  return nodes;
}

}  // namespace

Result<std::vector<int>> place_ranks(const Machine& machine, int ranks,
                                     const std::string& placement) {
  if (ranks < 1) {
    return error("expected at least one rank, got " + std::to_string(ranks));
  }
  if (ranks > machine.capacity()) return too_many_ranks(machine, ranks);
  const bool block = placement == "block";
  if (!block && placement != "cyclic") return read_placement(machine, ranks, placement);
  std::vector<int> nodes(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    nodes[static_cast<size_t>(rank)] = block ? rank / machine.cores : rank % machine.nodes;
  }
  return nodes;
}

std::vector<int> place_more(const Machine& machine, int ranks, const std::string& placement,
                            std::vector<int> taken, const std::vector<int>& allowed) {
  std::vector<int> candidates = allowed;
  if (candidates.empty()) {
    candidates.resize(static_cast<size_t>(machine.nodes));
    std::iota(candidates.begin(), candidates.end(), 0);
  }
  std::vector<int> nodes;
  const auto needs_more = [&] { return nodes.size() < static_cast<size_t>(ranks); };
  // Cyclic: one round for each number of ranks on a node; otherwise one round fills all.
  const bool cyclic = placement == "cyclic";
  for (int most = cyclic ? 1 : machine.cores; most <= machine.cores && needs_more(); ++most) {
    for (const int node : candidates) {
      int& here = taken[static_cast<size_t>(node)];
      for (; here < most && needs_more(); ++here) nodes.push_back(node);
    }
  }
  return nodes;
}

}  // namespace sesame::machine
