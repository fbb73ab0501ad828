// A key of a machine file: its name, the kind of its value and its meaning.
#pragma once

#include <span>
#include <string>

namespace sesame::machine {

enum class Kind {
  kText,
  kTexts,
  kCount,
  kCounts,
  kIndex,  // from 0
  kIndices,
  kRatio,
  kFactors,
  kShare,
  kFlag,
  kDuration,
  kSize,
  kBandwidth,
  kTopology,
  kChoice,
};

struct Key {
  std::string name;  // dotted; "N" stands for the number of a segment
  Kind kind;
  bool required;
  const char* meaning;
  std::span<const char* const> words = {};  // of a choice
};

}  // namespace sesame::machine
