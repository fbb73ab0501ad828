#include "core/base/units.h"

#include <gtest/gtest.h>

namespace sesame {
namespace {

TEST(Duration, IsReadInEveryUnit) {
  EXPECT_EQ(parse_duration("1.5 us")->ps(), 1'500'000);
  EXPECT_EQ(parse_duration("0s")->ps(), 0);
  EXPECT_EQ(parse_duration(" 2 s ")->ps(), 2'000'000'000'000);
  EXPECT_EQ(parse_duration("3ms")->ps(), 3'000'000'000);
  EXPECT_EQ(parse_duration("184us")->ps(), 184'000'000);
  EXPECT_EQ(parse_duration("184 \xc2\xb5s")->ps(), 184'000'000);
  EXPECT_EQ(parse_duration("500ns")->ps(), 500'000);
  EXPECT_EQ(parse_duration("7 ps")->ps(), 7);
  EXPECT_EQ(parse_duration("1e-3 ns")->ps(), 1);
}

TEST(Duration, RoundsToThePicosecond) {
  EXPECT_EQ(parse_duration("0.0004 ns")->ps(), 0);
  EXPECT_EQ(parse_duration("0.0016 ns")->ps(), 2);
}

TEST(Duration, RefusesWhatIsNoDurationAndNamesTheUnits) {
  for (const char* text : {"", "us", "1", "1 MB", "1 u", "-1 us", "1.5.2 us", "nan s", "inf s",
                           "1 us us", "200 d", "1e30 s"}) {
    const auto result = parse_duration(text);
    ASSERT_FALSE(result) << text;
    EXPECT_NE(result.error().message.find("s, ms, us, ns or ps"), std::string::npos) << text;
    EXPECT_NE(result.error().message.find("got \"" + std::string(text) + "\""), std::string::npos);
  }
  EXPECT_NE(parse_duration("1").error().hint.find("unit is missing"), std::string::npos);
}

TEST(Size, IsReadInDecimalAndBinaryUnits) {
  EXPECT_EQ(*parse_size("64 KiB"), 65536u);
  EXPECT_EQ(*parse_size("1MB"), 1'000'000u);
  EXPECT_EQ(*parse_size("0 B"), 0u);
  EXPECT_EQ(*parse_size("512"), 512u);
  EXPECT_EQ(*parse_size("1.5 KiB"), 1536u);
  EXPECT_EQ(*parse_size("2 TiB"), uint64_t{2} << 40);
}

TEST(Size, RefusesFractionsOfAByteAndOverflow) {
  EXPECT_FALSE(parse_size("0.3 B"));
  EXPECT_FALSE(parse_size("-1"));
  EXPECT_FALSE(parse_size("1e9 TiB"));
  EXPECT_FALSE(parse_size("64 kb"));
  EXPECT_FALSE(parse_size("64 us"));
}

TEST(Bandwidth, IsReadInBytesAndInBits) {
  EXPECT_DOUBLE_EQ(*parse_bandwidth("28 MB/s"), 28e6);
  EXPECT_DOUBLE_EQ(*parse_bandwidth("100 Gbit/s"), 12.5e9);
  EXPECT_DOUBLE_EQ(*parse_bandwidth("1 MiB/s"), 1048576);
}

TEST(Bandwidth, RefusesTheAmbiguousSmallB) {
  const auto result = parse_bandwidth("40 Mb/s");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().hint, "write Mbit/s or Gbit/s for bits, MB/s or GB/s for bytes");
  EXPECT_FALSE(parse_bandwidth("28 MB"));
  EXPECT_FALSE(parse_bandwidth("-28 MB/s"));
}

TEST(FormatDuration, ShowsThreeDigitsInTheFittingUnit) {
  EXPECT_EQ(format_duration(SimTime::from_ps(1'250'000)), "1.25 us");
  EXPECT_EQ(format_duration(SimTime::from_ps(0)), "0 s");
  EXPECT_EQ(format_duration(SimTime::from_ns(184'000)), "184 us");
  EXPECT_EQ(format_duration(SimTime::from_ps(999'499)), "999 ns");
  EXPECT_EQ(format_duration(SimTime::from_ps(999'500)), "1.00 us");
  EXPECT_EQ(format_duration(SimTime::from_ps(9'996)), "10.0 ns");
  EXPECT_EQ(format_duration(SimTime::from_ps(-2'000)), "-2.00 ns");
  EXPECT_EQ(format_duration(SimTime::from_seconds(86'400)), "86400 s");
  EXPECT_EQ(format_duration(SimTime::never()), "never");
}

TEST(FormatSize, KeepsExactMultiplesExact) {
  EXPECT_EQ(format_size(65536), "64 KiB");
  EXPECT_EQ(format_size(0), "0 B");
  EXPECT_EQ(format_size(512), "512 B");
  EXPECT_EQ(format_size(1536), "1.50 KiB");
  EXPECT_EQ(format_size(1'000'000), "977 KiB");
  EXPECT_EQ(format_size(uint64_t{1} << 40), "1 TiB");
}

TEST(Format, WhatIsFormattedIsReadBack) {
  for (int64_t ps : {1, 17, 999, 1000, 1250, 184'000'000, 2'000'000'000}) {
    const auto back = parse_duration(format_duration(SimTime::from_ps(ps)));
    ASSERT_TRUE(back);
    EXPECT_NEAR(static_cast<double>(back->ps()), static_cast<double>(ps), 0.005 * ps + 0.5);
  }
}

TEST(SimTime, ASumBeyondTheRangeEndsTheProcessInsteadOfWrappingAround) {
  const SimTime long_time = SimTime::from_ps(9'000'000'000'000'000'000);
  EXPECT_EXIT((void)(long_time + long_time), ::testing::ExitedWithCode(2), "range of 106 days");
  SimTime never = SimTime::never();
  EXPECT_EXIT(never += SimTime::from_ps(1), ::testing::ExitedWithCode(2), "range of 106 days");
  EXPECT_EQ(SimTime::never() + SimTime::zero(), SimTime::never());
}

}  // namespace
}  // namespace sesame
