// The numbers are those of ompi/mca/coll/tuned/coll_tuned_decision_fixed.c of Open MPI 4.1.4, which
// 5.0 has unchanged, and the parameters' defaults in coll_tuned_component.c beside it. Algorithms
// that differ only in segments, of which these rules use none, or in the order in which they start
// messages are one here: pipeline and chain, ring and segmented ring; linear and linear_sync of
// MPI_Alltoall; two_proc is the algorithm that does the same for two ranks.
#include "core/mpi/collectives/open_mpi_rules.h"

#include <bit>
#include <limits>

namespace sesame::mpi::collectives::open_mpi {
namespace {

// For fewer ranks and fewer bytes than these. The first rule that fits holds.
template <typename Algorithm>
struct Rule {
  int64_t ranks_below;
  Count bytes_below;
  Algorithm algorithm;
};

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
constexpr int64_t kKi = 1024;
constexpr int64_t kMi = 1024 * kKi;

template <typename Algorithm, size_t size>
Algorithm first_of(const Rule<Algorithm> (&rules)[size], int ranks, Count bytes) {
  const Rule<Algorithm>* rule = rules;
  while (ranks >= rule->ranks_below || bytes >= rule->bytes_below) ++rule;
  return rule->algorithm;
}

constexpr Rule<Allgather> kAllgather[] = {
    {32, kAny, Allgather::kDoubling},       {64, 1024, Allgather::kDoubling},
    {64, 64 * kKi, Allgather::kNeighbor},   {64, kAny, Allgather::kRing},
    {128, 512, Allgather::kDoubling},       {128, 64 * kKi, Allgather::kNeighbor},
    {128, kAny, Allgather::kRing},          {256, 512, Allgather::kDoubling},
    {256, 128 * kKi, Allgather::kNeighbor}, {256, 512 * kKi, Allgather::kRing},
    {256, kMi, Allgather::kNeighbor},       {256, kAny, Allgather::kRing},
    {512, 32, Allgather::kDoubling},        {512, 128, Allgather::kBruck},
    {512, 1024, Allgather::kDoubling},      {512, 128 * kKi, Allgather::kNeighbor},
    {512, 512 * kKi, Allgather::kRing},     {512, kMi, Allgather::kNeighbor},
    {512, kAny, Allgather::kRing},          {1024, 64, Allgather::kDoubling},
    {1024, 256, Allgather::kBruck},         {1024, 2 * kKi, Allgather::kDoubling},
    {1024, kAny, Allgather::kNeighbor},     {2048, 4, Allgather::kDoubling},
    {2048, 8, Allgather::kBruck},           {2048, 16, Allgather::kDoubling},
    {2048, 32, Allgather::kBruck},          {2048, 256, Allgather::kDoubling},
    {2048, 512, Allgather::kBruck},         {2048, 4 * kKi, Allgather::kDoubling},
    {2048, kAny, Allgather::kNeighbor},     {4096, 32, Allgather::kBruck},
    {4096, 128, Allgather::kDoubling},      {4096, 512, Allgather::kBruck},
    {4096, 4 * kKi, Allgather::kDoubling},  {4096, kAny, Allgather::kNeighbor},
    {kAny, 2, Allgather::kDoubling},        {kAny, 8, Allgather::kBruck},
    {kAny, 16, Allgather::kDoubling},       {kAny, 512, Allgather::kBruck},
    {kAny, 4 * kKi, Allgather::kDoubling},  {kAny, kAny, Allgather::kNeighbor},
};

constexpr Rule<Allgatherv> kAllgatherv[] = {
    {3, 2 * kKi, Allgatherv::kRing},        {3, 4 * kKi, Allgatherv::kNeighbor},
    {3, 8 * kKi, Allgatherv::kRing},        {3, kAny, Allgatherv::kNeighbor},
    {8, 256, Allgatherv::kGatherBcast},     {8, 4 * kKi, Allgatherv::kNeighbor},
    {8, 8 * kKi, Allgatherv::kRing},        {8, 16 * kKi, Allgatherv::kNeighbor},
    {8, 256 * kKi, Allgatherv::kBruck},     {8, kAny, Allgatherv::kNeighbor},
    {16, 1024, Allgatherv::kGatherBcast},   {16, kAny, Allgatherv::kBruck},
    {32, 128, Allgatherv::kGatherBcast},    {32, 256 * kKi, Allgatherv::kBruck},
    {32, kAny, Allgatherv::kRing},          {64, 256, Allgatherv::kGatherBcast},
    {64, 8 * kKi, Allgatherv::kBruck},      {64, kAny, Allgatherv::kRing},
    {128, 256, Allgatherv::kGatherBcast},   {128, 4 * kKi, Allgatherv::kBruck},
    {128, kAny, Allgatherv::kRing},         {256, 1024, Allgatherv::kBruck},
    {256, 64 * kKi, Allgatherv::kNeighbor}, {256, kAny, Allgatherv::kRing},
    {512, 1024, Allgatherv::kBruck},        {512, kAny, Allgatherv::kRing},
    {1024, 512, Allgatherv::kBruck},        {1024, 1024, Allgatherv::kGatherBcast},
    {1024, 4 * kKi, Allgatherv::kBruck},    {1024, kMi, Allgatherv::kNeighbor},
    {1024, kAny, Allgatherv::kRing},        {kAny, 4 * kKi, Allgatherv::kBruck},
    {kAny, kAny, Allgatherv::kNeighbor},
};

constexpr Rule<Allreduce> kAllreduceOrdered[] = {
    {4, 128 * kKi, Allreduce::kDoubling},      {4, kAny, Allreduce::kLinear},
    {8, kAny, Allreduce::kDoubling},           {16, kMi, Allreduce::kDoubling},
    {16, kAny, Allreduce::kReduceBcast},       {128, kAny, Allreduce::kDoubling},
    {256, 128 * kKi, Allreduce::kReduceBcast}, {256, 512 * kKi, Allreduce::kDoubling},
    {256, kAny, Allreduce::kReduceBcast},      {512, 4 * kKi, Allreduce::kReduceBcast},
    {512, 512 * kKi, Allreduce::kDoubling},    {512, kAny, Allreduce::kReduceBcast},
    {kAny, 2 * kKi, Allreduce::kReduceBcast},  {kAny, kAny, Allreduce::kDoubling},
};
constexpr Rule<Allreduce> kAllreduce[] = {
    {4, 8, Allreduce::kRing},
    {4, 4 * kKi, Allreduce::kDoubling},
    {4, 8 * kKi, Allreduce::kRing},
    {4, 16 * kKi, Allreduce::kDoubling},
    {4, 256 * kKi, Allreduce::kRing},
    {4, kAny, Allreduce::kHalvingDoubling},
    {8, 16, Allreduce::kRing},
    {8, 8 * kKi, Allreduce::kDoubling},
    {8, kAny, Allreduce::kHalvingDoubling},
    {16, 8 * kKi, Allreduce::kDoubling},
    {16, kAny, Allreduce::kHalvingDoubling},
    {32, 64, Allreduce::kRing},
    {32, 4 * kKi, Allreduce::kDoubling},
    {32, kAny, Allreduce::kHalvingDoubling},
    {64, 128, Allreduce::kRing},
    {64, kAny, Allreduce::kHalvingDoubling},
    {128, 256 * kKi, Allreduce::kDoubling},
    {128, kAny, Allreduce::kHalvingDoubling},
    {256, 128 * kKi, Allreduce::kReduceBcast},
    {256, 256 * kKi, Allreduce::kDoubling},
    {256, kAny, Allreduce::kHalvingDoubling},
    {512, 4 * kKi, Allreduce::kReduceBcast},
    {512, kAny, Allreduce::kHalvingDoubling},
    {2048, 2 * kKi, Allreduce::kReduceBcast},
    {2048, 16 * kKi, Allreduce::kDoubling},
    {2048, kAny, Allreduce::kHalvingDoubling},
    {4096, 2 * kKi, Allreduce::kReduceBcast},
    {4096, 4 * kKi, Allreduce::kRing},
    {4096, 16 * kKi, Allreduce::kDoubling},
    {4096, kAny, Allreduce::kHalvingDoubling},
    {kAny, 2 * kKi, Allreduce::kReduceBcast},
    {kAny, 16 * kKi, Allreduce::kRing},
    {kAny, 32 * kKi, Allreduce::kDoubling},
    {kAny, kAny, Allreduce::kHalvingDoubling},
};

constexpr Rule<Alltoall> kAlltoall[] = {
    {3, 32 * kKi, Alltoall::kPairwise},    {3, 256 * kKi, Alltoall::kScattered},
    {3, kAny, Alltoall::kPairwise},        {8, 512 * kKi, Alltoall::kScattered},
    {8, kMi, Alltoall::kPairwise},         {8, kAny, Alltoall::kScattered},
    {16, kAny, Alltoall::kScattered},      {32, 4, Alltoall::kScattered},
    {32, 512, Alltoall::kBruck},           {32, kAny, Alltoall::kScattered},
    {64, 512, Alltoall::kBruck},           {64, kAny, Alltoall::kScattered},
    {256, 1024, Alltoall::kBruck},         {256, 256 * kKi, Alltoall::kScattered},
    {256, kAny, Alltoall::kPairwise},      {512, 1024, Alltoall::kBruck},
    {512, 32 * kKi, Alltoall::kScattered}, {512, kAny, Alltoall::kPairwise},
    {1024, 512, Alltoall::kBruck},         {1024, 256 * kKi, Alltoall::kScattered},
    {1024, kAny, Alltoall::kPairwise},     {2048, 512, Alltoall::kBruck},
    {2048, kAny, Alltoall::kScattered},    {4096, 1024, Alltoall::kBruck},
    {4096, kAny, Alltoall::kScattered},    {kAny, 2 * kKi, Alltoall::kBruck},
    {kAny, kAny, Alltoall::kScattered},
};
constexpr Rule<Alltoall> kAlltoallv[] = {
    {4, kAny, Alltoall::kPairwise},    {64, kAny, Alltoall::kScattered},
    {128, kAny, Alltoall::kPairwise},  {256, kAny, Alltoall::kScattered},
    {1024, kAny, Alltoall::kPairwise}, {kAny, kAny, Alltoall::kScattered},
};

constexpr Rule<Barrier> kBarrier[] = {
    {4, kAny, Barrier::kDoubling},  {8, kAny, Barrier::kLinear},
    {64, kAny, Barrier::kDoubling}, {256, kAny, Barrier::kDissemination},
    {512, kAny, Barrier::kTree},    {1024, kAny, Barrier::kDissemination},
    {4096, kAny, Barrier::kTree},   {kAny, kAny, Barrier::kDissemination},
};

constexpr Rule<Bcast> kBcast[] = {
    {4, 32, Bcast::kChain},
    {4, 256, Bcast::kBinary},
    {4, 512, Bcast::kChain},
    {4, 1024, Bcast::kQuadnomial},
    {4, 32 * kKi, Bcast::kLinear},
    {4, 128 * kKi, Bcast::kBinary},
    {4, 256 * kKi, Bcast::kChain},
    {4, 512 * kKi, Bcast::kLinear},
    {4, kMi, Bcast::kBinomial},
    {4, kAny, Bcast::kBinary},
    {8, 64, Bcast::kBinary},
    {8, 128, Bcast::kBinomial},
    {8, 2 * kKi, Bcast::kBinary},
    {8, 8 * kKi, Bcast::kBinomial},
    {8, kMi, Bcast::kLinear},
    {8, kAny, Bcast::kChain},
    {16, 8, Bcast::kQuadnomial},
    {16, 64, Bcast::kBinary},
    {16, 4 * kKi, Bcast::kQuadnomial},
    {16, 16 * kKi, Bcast::kBinary},
    {16, 32 * kKi, Bcast::kBinomial},
    {16, kAny, Bcast::kLinear},
    {32, 4 * kKi, Bcast::kQuadnomial},
    {32, kMi, Bcast::kBinomial},
    {32, kAny, Bcast::kScatterDoubling},
    {64, 2 * kKi, Bcast::kBinomial},
    {64, kAny, Bcast::kQuadnomial},
    {128, kAny, Bcast::kQuadnomial},
    {256, 2, Bcast::kBinomial},
    {256, 16 * kKi, Bcast::kBinary},
    {256, 32 * kKi, Bcast::kLinear},
    {256, 64 * kKi, Bcast::kBinary},
    {256, kAny, Bcast::kQuadnomial},
    {1024, 16 * kKi, Bcast::kQuadnomial},
    {1024, 32 * kKi, Bcast::kSplitBinary},
    {1024, kAny, Bcast::kQuadnomial},
    {2048, 512 * kKi, Bcast::kQuadnomial},
    {2048, kAny, Bcast::kScatterDoubling},
    {4096, 256 * kKi, Bcast::kQuadnomial},
    {4096, kAny, Bcast::kScatterDoubling},
    {kAny, 8 * kKi, Bcast::kQuadnomial},
    {kAny, 16 * kKi, Bcast::kBinary},
    {kAny, 256 * kKi, Bcast::kQuadnomial},
    {kAny, kAny, Bcast::kScatterDoubling},
};

constexpr Rule<Gather> kGather[] = {
    {4, 2, Gather::kLinearSync},       {4, 4, Gather::kLinear},
    {4, 32 * kKi, Gather::kBinomial},  {4, 64 * kKi, Gather::kLinear},
    {4, 128 * kKi, Gather::kBinomial}, {4, kAny, Gather::kLinearSync},
    {8, 1024, Gather::kBinomial},      {8, 8 * kKi, Gather::kLinear},
    {8, 32 * kKi, Gather::kBinomial},  {8, 256 * kKi, Gather::kLinear},
    {8, kAny, Gather::kLinearSync},    {256, kAny, Gather::kBinomial},
    {512, 2 * kKi, Gather::kBinomial}, {512, 8 * kKi, Gather::kLinear},
    {512, kAny, Gather::kBinomial},    {kAny, kAny, Gather::kBinomial},
};

constexpr Rule<Reduce> kReduceOrdered[] = {
    {4, 8, Reduce::kOrderedBinary},       {4, kAny, Reduce::kLinear},
    {8, kAny, Reduce::kLinear},           {16, 1024, Reduce::kOrderedBinary},
    {16, 8 * kKi, Reduce::kLinear},       {16, 16 * kKi, Reduce::kOrderedBinary},
    {16, 256 * kKi, Reduce::kLinear},     {16, kAny, Reduce::kOrderedBinary},
    {128, kAny, Reduce::kOrderedBinary},  {256, 512, Reduce::kOrderedBinary},
    {256, 1024, Reduce::kLinear},         {256, kAny, Reduce::kOrderedBinary},
    {kAny, kAny, Reduce::kOrderedBinary},
};
constexpr Rule<Reduce> kReduce[] = {
    {4, 8, Reduce::kScatterGather},
    {4, 16, Reduce::kBinary},
    {4, 32, Reduce::kChain},
    {4, 256 * kKi, Reduce::kLinear},
    {4, kAny, Reduce::kChain},
    {8, 4 * kKi, Reduce::kBinary},
    {8, 64 * kKi, Reduce::kChain},
    {8, 256 * kKi, Reduce::kBinomial},
    {8, 512 * kKi, Reduce::kLinear},
    {8, kMi, Reduce::kBinomial},
    {8, kAny, Reduce::kLinear},
    {16, 8 * kKi, Reduce::kBinary},
    {16, kAny, Reduce::kBinomial},
    {32, 4 * kKi, Reduce::kBinary},
    {32, kAny, Reduce::kBinomial},
    {256, kAny, Reduce::kBinomial},
    {512, 8 * kKi, Reduce::kBinomial},
    {512, 16 * kKi, Reduce::kOrderedBinary},
    {512, kAny, Reduce::kBinomial},
    {2048, kAny, Reduce::kBinomial},
    {4096, 512, Reduce::kBinomial},
    {4096, 1024, Reduce::kOrderedBinary},
    {4096, 8 * kKi, Reduce::kBinomial},
    {4096, 16 * kKi, Reduce::kOrderedBinary},
    {4096, kAny, Reduce::kBinomial},
    {kAny, 16, Reduce::kBinomial},
    {kAny, 32, Reduce::kOrderedBinary},
    {kAny, 1024, Reduce::kBinomial},
    {kAny, 2 * kKi, Reduce::kOrderedBinary},
    {kAny, 8 * kKi, Reduce::kBinomial},
    {kAny, 16 * kKi, Reduce::kOrderedBinary},
    {kAny, kAny, Reduce::kBinomial},
};

constexpr Rule<ReduceScatter> kReduceScatter[] = {
    {4, 64 * kKi, ReduceScatter::kPairwise},      {4, 128 * kKi, ReduceScatter::kMirrored},
    {4, kAny, ReduceScatter::kPairwise},          {8, 8, ReduceScatter::kReduceScatterv},
    {8, 256 * kKi, ReduceScatter::kHalving},      {8, kAny, ReduceScatter::kPairwise},
    {32, 256 * kKi, ReduceScatter::kHalving},     {32, kAny, ReduceScatter::kPairwise},
    {64, 64, ReduceScatter::kReduceScatterv},     {64, 2 * kKi, ReduceScatter::kHalving},
    {64, 512 * kKi, ReduceScatter::kMirrored},    {64, kAny, ReduceScatter::kPairwise},
    {128, 256, ReduceScatter::kReduceScatterv},   {128, 512, ReduceScatter::kHalving},
    {128, 2 * kKi, ReduceScatter::kMirrored},     {128, 4 * kKi, ReduceScatter::kHalving},
    {128, kAny, ReduceScatter::kMirrored},        {256, 256, ReduceScatter::kReduceScatterv},
    {256, 512, ReduceScatter::kHalving},          {256, kAny, ReduceScatter::kMirrored},
    {512, 256, ReduceScatter::kReduceScatterv},   {512, 1024, ReduceScatter::kHalving},
    {512, kAny, ReduceScatter::kMirrored},        {1024, 512, ReduceScatter::kReduceScatterv},
    {1024, 2 * kKi, ReduceScatter::kHalving},     {1024, 8 * kKi, ReduceScatter::kMirrored},
    {1024, 16 * kKi, ReduceScatter::kHalving},    {1024, kAny, ReduceScatter::kMirrored},
    {2048, 512, ReduceScatter::kReduceScatterv},  {2048, 4 * kKi, ReduceScatter::kHalving},
    {2048, 16 * kKi, ReduceScatter::kMirrored},   {2048, 32 * kKi, ReduceScatter::kHalving},
    {2048, kAny, ReduceScatter::kMirrored},       {4096, 512, ReduceScatter::kReduceScatterv},
    {4096, 4 * kKi, ReduceScatter::kHalving},     {4096, kAny, ReduceScatter::kMirrored},
    {kAny, 1024, ReduceScatter::kReduceScatterv}, {kAny, 8 * kKi, ReduceScatter::kHalving},
    {kAny, kAny, ReduceScatter::kMirrored},
};
constexpr Rule<ReduceScatter> kReduceScatterBlock[] = {
    {4, 4, ReduceScatter::kDoubling},
    {4, 8, ReduceScatter::kMirrored},
    {4, 16, ReduceScatter::kHalving},
    {4, 128, ReduceScatter::kMirrored},
    {4, 256, ReduceScatter::kHalving},
    {4, 4 * kKi, ReduceScatter::kMirrored},
    {4, 8 * kKi, ReduceScatter::kHalving},
    {4, 128 * kKi, ReduceScatter::kMirrored},
    {4, kAny, ReduceScatter::kReduceScatterv},
    {8, 8, ReduceScatter::kHalving},
    {8, 32, ReduceScatter::kDoubling},
    {8, 256, ReduceScatter::kMirrored},
    {8, 8 * kKi, ReduceScatter::kHalving},
    {8, 16 * kKi, ReduceScatter::kMirrored},
    {8, kMi, ReduceScatter::kHalving},
    {8, kAny, ReduceScatter::kReduceScatterv},
    {16, 4, ReduceScatter::kReduceScatterv},
    {16, 32, ReduceScatter::kHalving},
    {16, 128, ReduceScatter::kMirrored},
    {16, 512 * kKi, ReduceScatter::kHalving},
    {16, 4 * kMi, ReduceScatter::kReduceScatterv},
    {16, kAny, ReduceScatter::kMirrored},
    {32, 32, ReduceScatter::kReduceScatterv},
    {32, 512 * kKi, ReduceScatter::kHalving},
    {32, 2 * kMi, ReduceScatter::kReduceScatterv},
    {32, 4 * kMi, ReduceScatter::kHalving},
    {32, kAny, ReduceScatter::kMirrored},
    {kAny, 4, ReduceScatter::kHalving},
    {kAny, 16, ReduceScatter::kReduceScatterv},
    {kAny, 64 * kKi, ReduceScatter::kMirrored},
    {kAny, 256 * kKi, ReduceScatter::kReduceScatterv},
    {kAny, kAny, ReduceScatter::kMirrored},
};

constexpr Rule<Scatter> kScatter[] = {
    {4, 2, Scatter::kAtOnce},           {4, 128 * kKi, Scatter::kLinear},
    {4, 256 * kKi, Scatter::kAtOnce},   {4, kAny, Scatter::kLinear},
    {8, 2 * kKi, Scatter::kBinomial},   {8, 4 * kKi, Scatter::kLinear},
    {8, 8 * kKi, Scatter::kBinomial},   {8, 32 * kKi, Scatter::kLinear},
    {8, kMi, Scatter::kAtOnce},         {8, kAny, Scatter::kLinear},
    {16, 16 * kKi, Scatter::kBinomial}, {16, kMi, Scatter::kAtOnce},
    {16, kAny, Scatter::kLinear},       {32, 16 * kKi, Scatter::kBinomial},
    {32, 32 * kKi, Scatter::kLinear},   {32, kAny, Scatter::kAtOnce},
    {64, 512, Scatter::kBinomial},      {64, 8 * kKi, Scatter::kAtOnce},
    {64, 16 * kKi, Scatter::kBinomial}, {64, kAny, Scatter::kAtOnce},
    {kAny, 512, Scatter::kBinomial},    {kAny, kAny, Scatter::kAtOnce},
};

}  // namespace

Allgather choose_allgather(int ranks, Count block_bytes) {
  return first_of(kAllgather, ranks, block_bytes);
}
Allgatherv choose_allgatherv(int ranks, Count mean_block_bytes) {
  return first_of(kAllgatherv, ranks, mean_block_bytes);
}
Allreduce choose_allreduce(int ranks, Count bytes, bool commutes) {
  return commutes ? first_of(kAllreduce, ranks, bytes) : first_of(kAllreduceOrdered, ranks, bytes);
}
Alltoall choose_alltoall(int ranks, Count block_bytes) {
  return first_of(kAlltoall, ranks, block_bytes);
}
Alltoall choose_alltoallv(int ranks) { return first_of(kAlltoallv, ranks, 0); }
Barrier choose_barrier(int ranks) { return first_of(kBarrier, ranks, 0); }
Bcast choose_bcast(int ranks, Count bytes) { return first_of(kBcast, ranks, bytes); }
Gather choose_gather(int ranks, Count block_bytes) { return first_of(kGather, ranks, block_bytes); }
Reduce choose_reduce(int ranks, Count bytes, bool commutes) {
  return commutes ? first_of(kReduce, ranks, bytes) : first_of(kReduceOrdered, ranks, bytes);
}
ReduceScatter choose_reduce_scatter(int ranks, Count bytes, bool commutes) {
  if (!commutes) return ReduceScatter::kReduceScatterv;
  return first_of(kReduceScatter, ranks, bytes);
}
ReduceScatter choose_reduce_scatter_block(int ranks, Count block_bytes, bool commutes) {
  if (!commutes) return ReduceScatter::kReduceScatterv;
  return first_of(kReduceScatterBlock, ranks, block_bytes);
}
Scatter choose_scatter(int ranks, Count block_bytes) {
  return first_of(kScatter, ranks, block_bytes);
}

// ompi/mca/coll/libnbc/nbc_iallreduce.c, nbc_ibcast.c and nbc_ireduce.c of Open MPI 4.1.4, with the
// defaults in coll_libnbc_component.c; 5.0 chooses the same.

namespace {

bool has_element_for_each(int ranks, Count elements) {
  return elements >= static_cast<Count>(std::bit_floor(static_cast<unsigned>(ranks)));
}

}  // namespace

Allreduce choose_iallreduce(int ranks, Count bytes, Count elements, bool commutes, bool in_place) {
  if (ranks < 4 || bytes < 64 * kKi || !commutes || in_place) return Allreduce::kBinomial;
  return has_element_for_each(ranks, elements) ? Allreduce::kHalvingDoubling : Allreduce::kRing;
}

Bcast choose_ibcast(int ranks, Count bytes) {
  if (ranks <= 4) return Bcast::kLinear;
  return bytes < 64 * kKi ? Bcast::kBinomial : Bcast::kPipeline;
}

Reduce choose_ireduce(int ranks, Count bytes, Count elements, bool commutes) {
  if (commutes && ranks > 2 && has_element_for_each(ranks, elements)) return Reduce::kScatterGather;
  if (ranks > 4 || bytes < 64 * kKi || !commutes) return Reduce::kBinomial;
  return Reduce::kPipeline;
}

Count bcast_segment(Count bytes) { return bytes < 512 * kKi ? 8 * kKi : 32 * kKi; }

}  // namespace sesame::mpi::collectives::open_mpi
