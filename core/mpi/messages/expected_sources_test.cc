// Which messages are next, and which contradict what was expected.
#include "core/mpi/messages/expected_sources.h"

#include <gtest/gtest.h>

namespace sesame::mpi {
namespace {

constexpr uint32_t kContext = 4;
constexpr int kTag = 7;

MessageEnvelope message(int source, int64_t arrival_ps, int tag = kTag) {
  MessageEnvelope made;
  made.context = kContext;
  made.source = made.source_world = source;
  made.tag = tag;
  made.arrival = SimTime::from_ps(arrival_ps);
  return made;
}

TEST(ExpectedSources, AMessageIsNextWhenAllBeforeItHaveArrived) {
  ExpectedSources expected = ExpectedSources::ordered();
  expected.add(kContext, kTag, 1, 2);
  expected.add(kContext, kTag, 2, 1);
  expected.add(kContext, kTag, 1, 1);
  expected.arrive(message(2, 30));
  EXPECT_EQ(expected.early_arrivals(message(2, 30)), 1U);  // behind two of rank 1
  expected.arrive(message(1, 10));
  EXPECT_EQ(expected.early_arrivals(message(1, 10)), 0U);
  EXPECT_EQ(expected.early_arrivals(message(2, 30)), 1U);
  expected.arrive(message(1, 20));
  EXPECT_EQ(expected.early_arrivals(message(2, 30)), 0U);
  expected.arrive(message(1, 40));
  EXPECT_EQ(expected.early_arrivals(message(1, 40)), 0U);
  expected.arrive(message(1, 50));  // more than are expected
  EXPECT_EQ(expected.early_arrivals(message(1, 50)), 1U);
}

TEST(ExpectedSources, TagsAndContextsAreIndependent) {
  ExpectedSources expected = ExpectedSources::ordered();
  expected.add(kContext, kTag, 1, 1);
  expected.add(kContext, kTag + 1, 2, 1);
  EXPECT_EQ(expected.early_arrivals(message(2, 10, kTag + 2)), ExpectedSources::kUnknown);
  expected.arrive(message(2, 10, kTag + 1));
  EXPECT_EQ(expected.early_arrivals(message(2, 10, kTag + 1)), 0U);
}

TEST(ExpectedSources, NothingIsExpectedOfATagWithSeveralSources) {
  ExpectedSources expected = ExpectedSources::one_source_per_tag();
  expected.arrive(message(1, 10));
  expected.arrive(message(1, 20));
  EXPECT_EQ(expected.early_arrivals(message(1, 10)), 0U);
  expected.arrive(message(2, 30));
  EXPECT_EQ(expected.early_arrivals(message(1, 10)), ExpectedSources::kUnknown);
}

TEST(ExpectedSources, OfTiedMessagesNoneIsNextBeforeAllHaveArrived) {
  ExpectedSources expected = ExpectedSources::ordered();
  expected.add(kContext, kTag, 1, 1);
  expected.add(kContext, kTag, 1, 1);  // of a time with those of 2 and 3
  expected.add(kContext, kTag, 2, 2, true);
  expected.add(kContext, kTag, 3, 1, true);
  expected.add(kContext, kTag, 3, 1);
  const auto arrive = [&](int source) { expected.arrive(message(source, 10)); };
  const auto early = [&](int source) { return expected.early_arrivals(message(source, 10)); };
  arrive(1);
  EXPECT_EQ(early(1), 0U);
  arrive(1);
  arrive(2);
  arrive(3);
  EXPECT_EQ(early(1), 1U);
  EXPECT_EQ(early(2), 1U);
  EXPECT_EQ(early(3), 1U);
  arrive(3);
  EXPECT_EQ(early(3), 2U);
  arrive(2);
  for (const int source : {1, 2, 3}) EXPECT_EQ(early(source), 0U) << source;
}

TEST(ExpectedSources, WhatComesBeforeAMatchContradictsIt) {
  ExpectedSources expected = ExpectedSources::one_source_per_tag();
  expected.arrive(message(3, 20));
  EXPECT_FALSE(expected.contradicts(message(2, 10)));  // nothing was matched
  expected.match(message(3, 20));
  EXPECT_TRUE(expected.contradicts(message(2, 10)));
  EXPECT_TRUE(expected.contradicts(message(2, 20)));  // of equal times, the lower source
  EXPECT_FALSE(expected.contradicts(message(4, 20)));
  EXPECT_FALSE(expected.contradicts(message(2, 30)));
  EXPECT_FALSE(expected.contradicts(message(2, 10, kTag + 1)));
}

TEST(ExpectedSources, NoReceiveIsFirstBehindOneThatNamesItsSource) {
  ExpectedSources expected = ExpectedSources::one_source_per_tag();
  const auto is_first = [&](int tag, uint64_t order) {
    return expected.is_first(kContext, tag, order);
  };
  expected.post(kContext, kTag, 2);
  expected.post(kContext, kTag, 4);
  EXPECT_TRUE(is_first(kTag, 1));
  EXPECT_FALSE(is_first(kTag, 3));
  EXPECT_TRUE(is_first(kTag + 1, 3));
  EXPECT_TRUE(expected.is_first(kContext + 2, kTag, 3));
  expected.remove(kContext, kTag, 2);
  EXPECT_TRUE(is_first(kTag, 3));
  EXPECT_FALSE(is_first(kTag, 5));
  expected.post(kContext, MPI_ANY_TAG, 6);
  EXPECT_TRUE(is_first(kTag + 1, 5));
  EXPECT_FALSE(is_first(kTag + 1, 7));
}

}  // namespace
}  // namespace sesame::mpi
