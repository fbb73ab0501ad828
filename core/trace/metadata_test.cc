#include "core/trace/metadata.h"

#include <gtest/gtest.h>

namespace sesame::trace {
namespace {

TEST(Metadata, GivesBackTheNamesOfCalls) {
  std::string text = metadata_text({{"MPI_Send", "odd \"name\\\"", "MPI_Recv"}, {}});
  auto parsed = parse_metadata(text, "metadata");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().to_string();
  EXPECT_EQ(parsed->call_names,
            (std::vector<std::string>{"MPI_Send", "odd \"name\\\"", "MPI_Recv"}));
}

TEST(Metadata, DeclaresEveryRecordTypeWithItsFields) {
  std::string text = metadata_text({{"MPI_Send"}, {{"machine", "paragon"}}});
  for (const char* expected :
       {"name = \"call\"", "name = \"message\"", "int64_t compute_before_ps;", "uint64_t bytes;",
        "\"rendezvous\" = 1", "\"MPI_Send\" = 0", "machine = \"paragon\""}) {
    EXPECT_NE(text.find(expected), std::string::npos) << expected;
  }
}

TEST(Metadata, RefusesAnotherFormatVersion) {
  std::string text = metadata_text({});
  size_t at = text.find("sesame_format = 2");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 17, "sesame_format = 9");
  auto parsed = parse_metadata(text, "raw/metadata");
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().message, "raw trace format 9, expected 2");
  EXPECT_EQ(parsed.error().path, "raw/metadata");
}

TEST(Metadata, RefusesTextOfOtherPrograms) {
  EXPECT_FALSE(parse_metadata("/* CTF 1.8 */\ntrace { major = 1; };\n", "m").has_value());
  EXPECT_FALSE(parse_metadata("", "m").has_value());
}

TEST(Metadata, SurvivesBeingCutOffAnywhere) {
  std::string text = metadata_text({{"MPI_Send", "MPI_Recv"}, {}});
  size_t refused = 0;
  for (size_t length = 0; length < text.size(); ++length) {
    if (!parse_metadata(std::string_view(text).substr(0, length), "m")) ++refused;
  }
  EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace sesame::trace
