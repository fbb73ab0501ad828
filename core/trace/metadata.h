// The text file `metadata` of a raw trace (CTF 1.8, Trace Stream Description Language): what any
// CTF reader needs to decode the streams. Made from records.def and the names of calls.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace sesame::trace {

struct Metadata {
  // Names of calls; the position is the number in the records.
  std::vector<std::string> call_names;
  // Properties of the trace: ("machine", "paragon"), ("ranks", "64"), … Keys are identifiers.
  std::vector<std::pair<std::string, std::string>> environment;
};

std::string metadata_text(const Metadata& metadata);

// Reads the names of calls back from what metadata_text() wrote; `environment` stays empty. Refuses
// the text of another format or version. `path` is only for errors.
Result<Metadata> parse_metadata(std::string_view text, const std::string& path);

}  // namespace sesame::trace
