// What is kept of files that are open.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/mpi/api.h"
#include "core/mpi/io/real_file.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::SimulatedJob;

std::string test_path(const std::string& name) {
  return (std::filesystem::temp_directory_path() / (name + std::to_string(getpid()))).string();
}

std::string hint_in_use(File file, const char* key) {
  Info used = MPI_INFO_NULL;
  File_get_info(file, &used);
  char value[64] = "";
  int length = sizeof value;
  int found = 0;
  Info_get_string(used, key, &length, value, &found);
  Info_free(&used);
  return value;
}

// ROMIO's own are ints, and so are its counts of bytes in them.
TEST(OpenFiles, BuffersLongerThanThereCanBeAreAsLongAsPossible) {
  SimulatedJob job(1);
  job.run([](int) {
    Info hints = MPI_INFO_NULL;
    Info_create(&hints);
    const char* const keys[] = {"cb_buffer_size", "ind_rd_buffer_size", "ind_wr_buffer_size"};
    for (const char* key : keys) Info_set(hints, key, "8589934592");
    File file = nullptr;
    const std::string path = test_path("long-buffers");
    ASSERT_EQ(File_open(MPI_COMM_SELF, path.c_str(),
                        MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, hints, &file),
              MPI_SUCCESS);
    for (const char* key : keys) EXPECT_EQ(hint_in_use(file, key), "2147483647") << key;
    File_close(&file);
    Info_free(&hints);
  });
}

TEST(OpenFiles, NothingIsKeptOfFilesThatWereClosed) {
  const size_t before = count_of_real_files();
  const std::string path = test_path("kept");
  for (int i = 0; i < 3; ++i) {
    const std::string name = path + "-" + std::to_string(i);
    std::shared_ptr<RealFile> first, second;
    ASSERT_EQ(open_real_file(name, {.writes = true, .create = true}, &first), 0);
    ASSERT_EQ(open_real_file(name, {.writes = true}, &second), 0);
    EXPECT_EQ(first, second) << "they share a descriptor";
    EXPECT_EQ(count_of_real_files(), before + 1);
    first = nullptr;
    EXPECT_EQ(count_of_real_files(), before + 1);
    remove_real_file(name);
    // Another file by the same name: the first one's end must not forget it.
    ASSERT_EQ(open_real_file(name, {.writes = true, .create = true}, &first), 0);
    EXPECT_NE(first, second);
    second = nullptr;
    EXPECT_EQ(count_of_real_files(), before + 1);
    remove_real_file(name);
  }
  EXPECT_EQ(count_of_real_files(), before);
}

}  // namespace
}  // namespace sesame::mpi
