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
  EXPECT_EQ(expected.too_soon(message(2, 30)), 1U);  // behind two of rank 1
  expected.arrive(message(1, 10));
  EXPECT_EQ(expected.too_soon(message(1, 10)), 0U);
  EXPECT_EQ(expected.too_soon(message(2, 30)), 1U);
  expected.arrive(message(1, 20));
  EXPECT_EQ(expected.too_soon(message(2, 30)), 0U);
  expected.arrive(message(1, 40));
  EXPECT_EQ(expected.too_soon(message(1, 40)), 0U);
  expected.arrive(message(1, 50));  // more than are expected
  EXPECT_EQ(expected.too_soon(message(1, 50)), 1U);
}

TEST(ExpectedSources, TagsAndContextsAreIndependent) {
  ExpectedSources expected = ExpectedSources::ordered();
  expected.add(kContext, kTag, 1, 1);
  expected.add(kContext, kTag + 1, 2, 1);
  EXPECT_EQ(expected.too_soon(message(2, 10, kTag + 2)), ExpectedSources::kUnknown);
  expected.arrive(message(2, 10, kTag + 1));
  EXPECT_EQ(expected.too_soon(message(2, 10, kTag + 1)), 0U);
}

TEST(ExpectedSources, NothingIsExpectedOfATagWithSeveralSources) {
  ExpectedSources expected = ExpectedSources::single();
  expected.arrive(message(1, 10));
  expected.arrive(message(1, 20));
  EXPECT_EQ(expected.too_soon(message(1, 10)), 0U);
  expected.arrive(message(2, 30));
  EXPECT_EQ(expected.too_soon(message(1, 10)), ExpectedSources::kUnknown);
}

TEST(ExpectedSources, WhatComesBeforeAMatchContradictsIt) {
  ExpectedSources expected = ExpectedSources::single();
  expected.arrive(message(3, 20));
  EXPECT_FALSE(expected.contradicts(message(2, 10), 0));  // nothing was matched
  expected.match(message(3, 20), 5);
  EXPECT_TRUE(expected.contradicts(message(2, 10), 0));
  EXPECT_TRUE(expected.contradicts(message(2, 20), 0));  // of equal times, the lower source
  EXPECT_FALSE(expected.contradicts(message(4, 20), 0));
  EXPECT_FALSE(expected.contradicts(message(2, 30), 0));
  EXPECT_FALSE(expected.contradicts(message(2, 10, kTag + 1), 0));
  // A receive that names its source takes it, posted before or after the other one.
  EXPECT_FALSE(expected.contradicts(message(2, 10), 4));
  EXPECT_TRUE(expected.contradicts(message(2, 10), 6));
}

}  // namespace
}  // namespace sesame::mpi
