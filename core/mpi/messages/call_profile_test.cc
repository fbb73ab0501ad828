#include "core/mpi/messages/call_profile.h"

#include <gtest/gtest.h>

#include <map>

namespace sesame::mpi {
namespace {

void add_call(CallProfile& profile, CallSlots& slots, uint16_t call, uint64_t bytes) {
  CallProfile::Entry& entry = profile.at(slots.of(call));
  ++entry.count;
  entry.bytes += bytes;
  entry.time += SimTime::from_ns(1);
}

std::map<uint16_t, uint64_t> bytes_by_call(const CallProfile& profile, const CallSlots& slots) {
  std::map<uint16_t, uint64_t> found;
  profile.visit(slots, [&](uint16_t call, const CallProfile::Entry& entry) {
    EXPECT_GT(entry.count, 0u);
    EXPECT_TRUE(found.emplace(call, entry.bytes).second);
  });
  return found;
}

TEST(CallProfile, AddsUpEachFunctionAlsoWhenThereAreMany) {
  CallSlots slots;
  CallProfile profile;
  std::map<uint16_t, uint64_t> expected;
  for (int round = 0; round < 3; ++round) {
    for (uint16_t call = 1; call < 40; ++call) {
      add_call(profile, slots, call, call);
      expected[call] += call;
    }
  }
  EXPECT_EQ(bytes_by_call(profile, slots), expected);
}

TEST(CallProfile, HasOnlyFunctionsThatTheRankHasCalled) {
  CallSlots slots;
  CallProfile first, second;
  for (uint16_t call = 1; call < 40; ++call) add_call(first, slots, call, 1);
  add_call(second, slots, 30, 5);
  add_call(second, slots, 2, 7);
  EXPECT_EQ(bytes_by_call(second, slots), (std::map<uint16_t, uint64_t>{{2, 7}, {30, 5}}));
  EXPECT_TRUE(bytes_by_call(CallProfile(), slots).empty());
}

}  // namespace
}  // namespace sesame::mpi
