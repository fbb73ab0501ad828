#include "core/machine/collective_rules.h"

namespace sesame::machine {
namespace {

constexpr const char* kAllgather[] = {"doubling", "bruck", "neighbor", "ring"};
constexpr const char* kAllreduce[] = {"linear",           "reduce-bcast", "doubling", "ring",
                                      "halving-doubling", "binomial",     "hardware", "two-level"};
constexpr const char* kAlltoall[] = {"scattered", "pairwise", "bruck"};
constexpr const char* kBarrier[] = {"linear", "doubling", "dissemination",
                                    "tree",   "hardware", "two-level"};
constexpr const char* kBcast[] = {"linear",   "chain",    "pipeline",   "split-binary",
                                  "binary",   "binomial", "quadnomial", "scatter-doubling",
                                  "two-level"};
constexpr const char* kGather[] = {"linear", "binomial", "linear-sync"};
constexpr const char* kReduce[] = {"linear",   "chain",          "pipeline",       "binary",
                                   "binomial", "ordered-binary", "scatter-gather", "two-level"};
constexpr const char* kScatter[] = {"linear", "binomial", "at-once"};

}  // namespace

std::span<const char* const> algorithm_words(Collective collective) {
  switch (collective) {
    case Collective::kAllgather:
      return kAllgather;
    case Collective::kAllreduce:
      return kAllreduce;
    case Collective::kAlltoall:
      return kAlltoall;
    case Collective::kBarrier:
      return kBarrier;
    case Collective::kBcast:
      return kBcast;
    case Collective::kGather:
      return kGather;
    case Collective::kReduce:
      return kReduce;
    case Collective::kScatter:
      return kScatter;
  }
  return {};
}

}  // namespace sesame::machine
