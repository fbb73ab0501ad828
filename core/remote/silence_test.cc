#include "core/remote/silence.h"

#include <gtest/gtest.h>

namespace sesame::remote {
namespace {

int64_t now_ns;
int64_t clock_of_the_test() { return now_ns; }

int64_t until_next_line(Silence& silence, int64_t at_ns) {
  now_ns = at_ns;
  return silence.look({});
}

TEST(Silence, EachLineIsDueAfterTwiceTheTimeOfTheOneBefore) {
  Silence silence(100, clock_of_the_test);
  EXPECT_EQ(until_next_line(silence, 1000), 100);
  EXPECT_EQ(until_next_line(silence, 1050), 50);
  EXPECT_EQ(until_next_line(silence, 1100), 100);
  EXPECT_EQ(until_next_line(silence, 1199), 1);
  EXPECT_EQ(until_next_line(silence, 1200), 200);
}

TEST(Silence, LinesThatALateLookHasMissedAreNotMadeUpFor) {
  Silence silence(100, clock_of_the_test);
  until_next_line(silence, 1000);
  EXPECT_EQ(until_next_line(silence, 1350), 50);
}

TEST(Silence, BeginsAgainAfterACall) {
  Silence silence(100, clock_of_the_test);
  until_next_line(silence, 1000);
  until_next_line(silence, 1350);
  silence.end();
  EXPECT_EQ(until_next_line(silence, 2000), 100);
}

}  // namespace
}  // namespace sesame::remote
