#include "core/replay/plan.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/replay/test_plan.h"

namespace sesame::replay {
namespace {

std::string message_of(const std::string& bytes) {
  const std::string path = own_path("plan");
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<int64_t>(bytes.size()));
  auto plan = Plan::open(path);
  unlink(path.c_str());
  return plan ? "" : plan.error().message;
}

PlanOperation write_of(int32_t slot) {
  PlanOperation operation = nothing();
  operation.call = Call::write;
  operation.slot = slot;
  return operation;
}

TEST(Plan, IsReadAsItWasWritten) {
  TestPlan made;
  made.add_event(1);
  PlanOperation waits = nothing();
  waits.wait = 1;
  made.links = {0, 0};
  PlanOperation arrives = nothing();
  arrives.first_link = 1;
  arrives.arrive = 1;
  made.add_stream({waits, nothing()});
  made.add_stream({arrives});
  made.add_file("/some/where");
  EXPECT_EQ(message_of(made.bytes()), "");
  const Plan plan = made.open();
  EXPECT_EQ(plan.streams.size(), 2u);
  EXPECT_EQ(plan.operations.size(), 3u);
  EXPECT_EQ(plan.operations[0].wait, 1u);
  EXPECT_STREQ(plan.path(0), "/some/where");
}

TEST(Plan, IsRefusedWhenItIsCutOffOrOfAnotherKind) {
  TestPlan made;
  made.add_stream({nothing()});
  const std::string bytes = made.bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(message_of(bytes.substr(0, size)), "") << size;
  }
  EXPECT_EQ(message_of(bytes + "x"), "the plan is cut off");
  std::string other = bytes;
  other[0] = 'x';
  EXPECT_EQ(message_of(other), "this is no plan");
  std::string newer = bytes;
  newer[8] = 99;
  EXPECT_EQ(message_of(newer), "the plan has version 99, expected " + std::to_string(kPlanVersion));
}

TEST(Plan, IsRefusedWhenAnOperationLeavesItsTables) {
  TestPlan slot;
  slot.add_stream({write_of(1)});
  EXPECT_EQ(message_of(slot.bytes()), "wrong operation");
  TestPlan file;
  PlanOperation named = nothing();
  named.file = 0;
  file.add_stream({named});
  EXPECT_EQ(message_of(file.bytes()), "wrong operation");
  TestPlan link;
  PlanOperation waits = nothing();
  waits.wait = 1;
  link.add_stream({waits});
  EXPECT_EQ(message_of(link.bytes()), "wrong operation");
  link.links = {7};
  EXPECT_EQ(message_of(link.bytes()), "wrong link");
  TestPlan stream;
  stream.add_stream({nothing()});
  stream.streams[0].first = UINT64_MAX;  // its end, first + count, is 0
  EXPECT_EQ(message_of(stream.bytes()), "wrong stream");
  TestPlan target;
  target.add_event(1);
  target.targets = {1};
  EXPECT_EQ(message_of(target.bytes()), "wrong target");
}

}  // namespace
}  // namespace sesame::replay
