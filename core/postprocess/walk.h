// Reads the records of one process in the order of time: merges the streams of its threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/trace/traced_reader.h"

namespace sesame::postprocess {

struct WalkResult {
  uint64_t records = 0;
  uint64_t discarded = 0;  // as the last packets say
  uint32_t pid = 0;
  uint32_t threads = 0;
  std::vector<std::string> damage;  // "path: what, where"
};

// Calls visitor.on(record, end_time) for each record, and before records of another thread
// visitor.set_thread(number). Times in ns.
template <typename Visitor>
WalkResult walk(const trace::TracedFiles& files, Visitor& visitor) {
  std::vector<std::unique_ptr<trace::TracedStream>> streams;
  std::vector<trace::TracedStream*> active;
  for (const std::string& path : files.streams) {
    streams.push_back(std::make_unique<trace::TracedStream>(path));
    if (streams.back()->peek()) active.push_back(streams.back().get());
  }
  WalkResult result;
  while (!active.empty()) {
    // Read the stream with the earliest record until another one's record is earlier.
    auto first = std::ranges::min_element(active, {}, &trace::TracedStream::next_time);
    std::swap(*first, active.back());
    uint64_t until = UINT64_MAX;
    for (size_t i = 0; i + 1 < active.size(); ++i) until = std::min(until, active[i]->next_time());
    trace::TracedStream& stream = *active.back();
    visitor.set_thread(stream.thread());
    bool more = true;
    while (more && stream.next_time() <= until) more = stream.take(visitor) && stream.peek();
    if (!more) active.pop_back();
  }
  for (const auto& stream : streams) {
    result.records += stream->records();
    result.discarded += stream->discarded();
    if (stream->records() > 0) {
      ++result.threads;
      result.pid = stream->pid();
    }
    if (stream->damage()) result.damage.push_back(stream->path() + ": " + *stream->damage());
  }
  return result;
}

}  // namespace sesame::postprocess
