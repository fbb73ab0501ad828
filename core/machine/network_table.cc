#include "core/machine/network_table.h"

#include <charconv>
#include <limits>

#include "core/machine/keys.h"
#include "core/machine/settings.h"

namespace sesame::machine {
namespace {

constexpr uint64_t kEverySize = std::numeric_limits<uint64_t>::max();

// An override of the table's latency or bandwidth moves the segments with it: their latencies by
// the difference, their bandwidths by the ratio. Without that a sweep would change nothing.
struct Shift {
  SimTime latency;
  double bandwidth = 1;
};

Shift shift_of(const Document& document, const std::string& table) {
  Shift shift;
  for (const Entry& entry : document.replaced) {
    if (entry.key == table + ".latency" && entry.value.type == Value::Type::kText) {
      if (const auto file = parse_duration(entry.value.text)) {
        shift.latency = duration_or(document, entry.key, *file) - *file;
      }
    }
    if (entry.key == table + ".bandwidth" && entry.value.type == Value::Type::kText) {
      if (const auto file = parse_bandwidth(entry.value.text); file && *file > 0) {
        shift.bandwidth = bandwidth_or(document, entry.key, *file) / *file;
      }
    }
  }
  return shift;
}

Segment read_segment(const Document& document, const std::string& table, const std::string& prefix,
                     const NetworkParameters& parameters) {
  const Shift shift = shift_of(document, table);
  Segment segment;
  segment.up_to = size_or(document, prefix + ".up_to", kEverySize);
  segment.latency = parameters.latency;
  segment.bandwidth = parameters.bandwidth;
  if (const Entry* latency = document.find(prefix + ".latency")) {
    SimTime own = duration_of(*latency);
    if (latency->override.empty()) own += shift.latency;
    // What it has beyond the table's latency does not change with that.
    const SimTime beyond = elapsed(parameters.latency, own);
    segment.latency += beyond.due_to(Parameter::of(prefix + ".latency"));
    // However fast the wire becomes, both processors need their time.
    const SimTime overheads = parameters.send_overhead + parameters.receive_overhead;
    if (latency->override.empty() && shift.latency < SimTime::zero())
      segment.latency = later(segment.latency, overheads);
  }
  if (const Entry* bandwidth = document.find(prefix + ".bandwidth")) {
    segment.bandwidth = bandwidth_or(document, bandwidth->key, 0);
    if (bandwidth->override.empty()) segment.bandwidth *= shift.bandwidth;
  }
  return segment;
}

// How many [[table.segment]] tables the file has.
int count_segments(const Document& document, const std::string& table) {
  int count = 0;
  while (document.find(table + ".segment." + std::to_string(count)) != nullptr) ++count;
  return count;
}

// An override may change a segment, not add one.
Result<> check_segment_numbers(const Document& document, const std::string& table, int count) {
  const std::string prefix = table + ".segment.";
  for (const Entry& entry : document.entries) {
    if (entry.override.empty() || !entry.key.starts_with(prefix)) continue;
    int number = 0;
    const char* end = entry.key.data() + entry.key.size();
    std::from_chars(entry.key.data() + prefix.size(), end, number);
    if (number < count) continue;
    return document.wrong(entry, "no such segment, expected a number below " +
                                     std::to_string(count) + ", got " + std::to_string(number));
  }
  return {};
}

Result<> check_first_segment(const Document& document, const std::string& table,
                             const NetworkParameters& parameters) {
  const std::string key = table + ".segment.0.latency";
  if (parameters.segments.front().latency == parameters.latency) return {};
  return document.wrong(*to_blame(document, {key, table + ".latency"}),
                        key + " is the time of the zero-byte message, expected " + table +
                            ".latency (" + format_duration(parameters.latency) + "), got " +
                            format_duration(parameters.segments.front().latency),
                        "leave it out; an override of " + table + ".latency moves every segment");
}

Result<> read_segments(const Document& document, const std::string& table,
                       NetworkParameters& parameters) {
  const int count = count_segments(document, table);
  if (auto checked = check_segment_numbers(document, table, count); !checked) return checked;
  uint64_t before = 0;
  for (int i = 0; i < count; ++i) {
    const std::string prefix = table + ".segment." + std::to_string(i);
    const Entry* up_to = document.find(prefix + ".up_to");
    if (up_to == nullptr && i + 1 < count) return missing_key(document, prefix + ".up_to");
    const Segment segment = read_segment(document, table, prefix, parameters);
    if (i > 0 && segment.up_to <= before) {
      return document.wrong(*up_to, "segments must rise, expected " + prefix + ".up_to above " +
                                        format_size(before) + ", got " +
                                        format_size(segment.up_to));
    }
    before = segment.up_to;
    parameters.segments.push_back(segment);
  }
  if (count == 0 || before != kEverySize) {
    parameters.segments.push_back({kEverySize, parameters.latency, parameters.bandwidth});
  }
  return check_first_segment(document, table, parameters);
}

// Overheads are part of the latency, so their sum must not exceed it.
Result<> check_overheads(const Document& document, const std::string& table,
                         const NetworkParameters& parameters) {
  const SimTime overheads = parameters.send_overhead + parameters.receive_overhead;
  for (const Segment& segment : parameters.segments) {
    if (overheads <= segment.latency) continue;
    return document.wrong(
        *to_blame(document,
                  {table + ".send_overhead", table + ".receive_overhead", table + ".latency"}),
        table + ".send_overhead and receive_overhead are part of the latency, expected at most " +
            format_duration(segment.latency) + " together, got " + format_duration(overheads),
        "lower the overheads, or raise the latency");
  }
  return {};
}

// A message is part of a stream, so a stream is at least as fast as large messages are.
Result<> check_stream(const Document& document, const std::string& table,
                      const NetworkParameters& parameters) {
  const double least = parameters.segments.back().bandwidth;
  if (parameters.stream_bandwidth == 0 || parameters.stream_bandwidth >= least) return {};
  const std::string key = table + ".stream_bandwidth";
  return document.wrong(*to_blame(document, {key, table + ".bandwidth"}),
                        key + " is below the bandwidth of large messages, expected at least " +
                            format_size(static_cast<uint64_t>(least)) + "/s, got " +
                            format_size(static_cast<uint64_t>(parameters.stream_bandwidth)) + "/s");
}

}  // namespace

std::unexpected<Error> missing_key(const Document& document, const std::string& key) {
  const Key* known = find_key(key);
  Entry place;  // the innermost table that is there
  for (size_t dot = key.rfind('.'); dot != std::string::npos && dot > 0;
       dot = key.rfind('.', dot - 1)) {
    if (const Entry* table = document.find(key.substr(0, dot))) {
      place = *table;
      break;
    }
  }
  return document.wrong(
      place, "missing key " + key + ", expected " + expectation(*known) + ", got nothing",
      key + ": " + known->meaning);
}

Result<NetworkParameters> read_network(const Document& document, const std::string& table) {
  for (const char* key : {".latency", ".bandwidth"}) {
    if (document.find(table + key) == nullptr) return missing_key(document, table + key);
  }
  NetworkParameters parameters;
  parameters.latency = duration_or(document, table + ".latency", {});
  parameters.bandwidth = bandwidth_or(document, table + ".bandwidth", 0);
  parameters.bandwidth_key = Parameter::of(table + ".bandwidth");
  parameters.send_overhead = duration_or(document, table + ".send_overhead", {});
  parameters.receive_overhead = duration_or(document, table + ".receive_overhead", {});
  parameters.send_copy_bandwidth = bandwidth_or(document, table + ".send_copy_bandwidth", 0);
  parameters.send_copy_key = Parameter::of(table + ".send_copy_bandwidth");
  parameters.receive_copy_bandwidth = bandwidth_or(document, table + ".receive_copy_bandwidth", 0);
  parameters.receive_copy_key = Parameter::of(table + ".receive_copy_bandwidth");
  parameters.gap = duration_or(document, table + ".gap", {});
  if (const Entry* stream = document.find(table + ".stream_bandwidth")) {
    parameters.stream_bandwidth = bandwidth_or(document, stream->key, 0);
    if (stream->override.empty())
      parameters.stream_bandwidth *= shift_of(document, table).bandwidth;
  }
  parameters.hop_latency = duration_or(document, table + ".hop_latency", {});
  parameters.eager_limit = size_or(document, table + ".eager_limit", kEverySize);
  if (auto read = read_segments(document, table, parameters); !read) {
    return std::unexpected(read.error());
  }
  if (auto checked = check_overheads(document, table, parameters); !checked) {
    return std::unexpected(checked.error());
  }
  if (auto checked = check_stream(document, table, parameters); !checked) {
    return std::unexpected(checked.error());
  }
  return parameters;
}

}  // namespace sesame::machine
