// Times of uncontended accesses against the closed forms of docs/models/storage.md.
#include "core/storage/file_system.h"

#include <gtest/gtest.h>

#include "core/storage/testing.h"

namespace sesame::storage {
namespace {

using machine::StorageParameters;

TEST(FileSystem, ReadTakesTheWayToTheDeviceAndBack) {
  StorageParameters parameters = plain();
  Bench bench(parameters);
  const SimTime took = bench.read(0, 0, {{0, 4096}});
  const SimTime request = bench.one_way(0, 64);
  const SimTime answer = bench.one_way(0, 64 + 4096);
  EXPECT_EQ(took, parameters.client_overhead + request + parameters.server_overhead +
                      bench.device_read(4096) + answer);
}

TEST(FileSystem, WriteTakesItsDataAlong) {
  StorageParameters parameters = plain();
  Bench bench(parameters);
  const SimTime took = bench.write(0, 0, {{0, 4096}});
  EXPECT_EQ(took, parameters.client_overhead + bench.one_way(0, 64 + 4096) +
                      parameters.server_overhead + bench.device_write(4096) + bench.one_way(0, 64));
}

}  // namespace
}  // namespace sesame::storage
