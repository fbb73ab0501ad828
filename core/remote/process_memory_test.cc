// What a rank loads into its caches: the parts of its memory that calls have written directly.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "core/remote/process.h"

namespace sesame::remote {
namespace {

class WrittenMemory : public ::testing::Test {
 protected:
  WrittenMemory() {
    memory_.set_process(getpid());
    slot_->target_time = 1;
  }

  void write(std::vector<size_t> sizes) {
    std::vector<mpi::RemoteRange> ranges;
    size_t at = 0;
    for (const size_t size : sizes) {
      ranges.push_back({mpi::remote_address(0, address(at)), size});
      at += size;
    }
    ASSERT_LE(at, data_.size());
    memory_.write(ranges.data(), ranges.size(), data_.data());
  }
  uintptr_t address(size_t at) const { return reinterpret_cast<uintptr_t>(received_.data()) + at; }

  // Address and size of each part.
  std::vector<std::pair<uint64_t, uint64_t>> handed_over() {
    std::vector<std::pair<uint64_t, uint64_t>> parts;
    const uint8_t count = memory_.hand_over_received(*slot_);
    for (int i = 0; i < count; ++i)
      parts.emplace_back(slot_->received[i].address, slot_->received[i].bytes);
    return parts;
  }

  std::unique_ptr<Slot> slot_ = std::make_unique<Slot>();
  ProcessMemory memory_{0, *slot_};
  const std::vector<char> data_ = std::vector<char>(2 * kMostReceivedBytes, 'x');
  std::vector<char> received_ = std::vector<char>(2 * kMostReceivedBytes);
};

using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

TEST_F(WrittenMemory, IsHandedOverOnce) {
  write({10'000});
  EXPECT_EQ(received_[9'999], 'x');
  EXPECT_EQ(handed_over(), (Ranges{{address(0), 10'000}}));
  EXPECT_EQ(handed_over(), Ranges{});
}

TEST_F(WrittenMemory, IsNotLoadedIfTheProcessStoresIt) {
  write({100});
  EXPECT_EQ(handed_over(), Ranges{});
}

TEST_F(WrittenMemory, IsItsEndWhereItIsLargerThanTheCaches) {
  write({kMostReceivedBytes + 4'096});
  EXPECT_EQ(handed_over(), (Ranges{{address(4'096), kMostReceivedBytes}}));
}

TEST_F(WrittenMemory, IsThatOfTheLastWritesWhereThereIsMore) {
  write({kMostReceivedBytes - 4'096});
  write({4'000, 4'096});
  EXPECT_EQ(handed_over(), (Ranges{{address(4'000), 4'096},
                                   {address(0), 4'000},
                                   {address(4'000), kMostReceivedBytes - 8'096}}));
}

TEST_F(WrittenMemory, HasOnlySoManyParts) {
  for (int i = 0; i < 5; ++i) write(std::vector<size_t>(kMostReceived - 4, 1'000));
  write(std::vector<size_t>(kMostReceived + 4, 1'000));
  const Ranges parts = handed_over();
  ASSERT_EQ(parts.size(), kMostReceived);
  EXPECT_EQ(parts.front(), std::pair(uint64_t{address((kMostReceived + 3) * 1'000)}, 1'000UL));
  EXPECT_EQ(parts.back(), std::pair(uint64_t{address(4 * 1'000)}, 1'000UL));
}

TEST_F(WrittenMemory, IsNotLoadedWhereComputationIsNotMeasured) {
  slot_->target_time = 0;
  write({10'000});
  EXPECT_EQ(handed_over(), Ranges{});
  slot_->target_time = 1;
  EXPECT_EQ(handed_over(), Ranges{});
}

}  // namespace
}  // namespace sesame::remote
