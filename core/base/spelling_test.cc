#include "core/base/spelling.h"

#include <gtest/gtest.h>

namespace sesame {
namespace {

TEST(Spelling, IsThatOfTheCommandLineUntilALibraryAsksForItsOwn) {
  EXPECT_STREQ(spelled("--stack-size", "stack_size="), "--stack-size");
  spell_settings_as_arguments();
  EXPECT_STREQ(spelled("--stack-size", "stack_size="), "stack_size=");
}

}  // namespace
}  // namespace sesame
