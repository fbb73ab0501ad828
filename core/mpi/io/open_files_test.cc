// Open files: hints in use, and space on a file system that fills up.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/mpi/api.h"
#include "core/mpi/testing/simulated_job.h"
#include "core/storage/make_file_system.h"
#include "core/storage/mounts.h"

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

// The maximum is that of an int: ROMIO stores these sizes, and byte counts in the buffers, as ints.
TEST(OpenFiles, TooLargeBufferSizesAreReducedToTheMaximum) {
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

// A job of two ranks on a machine whose /pfs has a capacity of 1,000,000 bytes.
class SmallFileSystem : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = test_path("small-file-system");
    World& world = job_.world();
    world.mounts = std::move(*storage::Mounts::create({directory_, "/tmp", false, false}));
    machine::StorageParameters parameters;
    parameters.detail = machine::StorageModel::kAnalytic;
    parameters.capacity = 1'000'000;
    parameters.analytic_latency = SimTime::from_ns(1000);
    parameters.analytic_bandwidth = 1e9;
    ASSERT_TRUE(world.mounts->add(
        {"/pfs"},
        storage::make_file_system(parameters, world.network, world.executive.events(), 1)));
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  static File open_alone(const char* path) {
    File file = nullptr;
    EXPECT_EQ(File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
              MPI_SUCCESS);
    return file;
  }
  static int write(File file, int bytes) {
    const std::vector<char> data(static_cast<size_t>(bytes));
    return File_write_at(file, 0, data.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  }

  std::string directory_;
  SimulatedJob job_{2};
};

TEST_F(SmallFileSystem, ADeletedFileKeepsItsSpaceUntilTheLastRankClosesIt) {
  job_.run([](int rank) {
    File file = nullptr;
    ASSERT_EQ(File_open(MPI_COMM_WORLD, "/pfs/one", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                        &file),
              MPI_SUCCESS);
    if (rank == 0) {
      EXPECT_EQ(write(file, 600'000), MPI_SUCCESS);
      ASSERT_EQ(File_delete("/pfs/one", MPI_INFO_NULL), MPI_SUCCESS);
      File other = open_alone("/pfs/two");
      EXPECT_EQ(write(other, 600'000), MPI_ERR_NO_SPACE);
      EXPECT_EQ(write(other, 400'000), MPI_SUCCESS);
      File_close(&other);
    }
    File_close(&file);
    Barrier(MPI_COMM_WORLD);  // MPI_File_close() returns earlier on rank 0 than on rank 1
    if (rank == 0) {
      File other = open_alone("/pfs/two");
      EXPECT_EQ(write(other, 1'000'000), MPI_SUCCESS);
      File_close(&other);
    }
  });
}

TEST_F(SmallFileSystem, AWriteThatTheHostRefusesKeepsNoSpace) {
  job_.run([](int rank) {
    if (rank != 0) return;
    File file = open_alone("/pfs/one");
    auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit limit{100'000, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    EXPECT_EQ(write(file, 600'000), MPI_ERR_NO_SPACE);
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    // The host has written 100,000 bytes.
    File other = open_alone("/pfs/two");
    EXPECT_EQ(write(other, 900'001), MPI_ERR_NO_SPACE);
    EXPECT_EQ(write(other, 900'000), MPI_SUCCESS);
    File_close(&other);
    File_close(&file);
  });
}

// A job of two ranks that sees a file of the host, "data" with the text "text", in the working
// directory.
class Originals : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(original_.parent_path());
    std::ofstream(original_) << "text";
    World& world = job_.world();
    world.mounts = std::move(*storage::Mounts::create({root_ / "backing", root_ / "work"}));
    machine::StorageParameters parameters;
    parameters.detail = machine::StorageModel::kAnalytic;
    parameters.analytic_bandwidth = 1e9;
    ASSERT_TRUE(world.mounts->add(
        {"."}, storage::make_file_system(parameters, world.network, world.executive.events(), 1)));
  }
  void TearDown() override {
    EXPECT_EQ(std::filesystem::file_size(original_), 4u);
    std::filesystem::remove_all(root_);
  }

  int open(Comm comm, int amode, File* file) const {
    return File_open(comm, original_.c_str(), amode, MPI_INFO_NULL, file);
  }
  static std::string text(File file) {
    char found[5] = "";
    EXPECT_EQ(File_read_at(file, 0, found, 4, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    return found;
  }

  const std::filesystem::path root_ = test_path("originals");
  const std::filesystem::path original_ = root_ / "work/data";
  SimulatedJob job_{2};
};

// Files of the host in the working directory are copied only before they are changed.
TEST_F(Originals, AreNotCopiedToBeReadOrDeleted) {
  job_.run([&](int rank) {
    if (rank != 0) return;
    File file = nullptr;
    ASSERT_EQ(open(MPI_COMM_SELF, MPI_MODE_RDONLY, &file), MPI_SUCCESS);
    EXPECT_EQ(text(file), "text");
    File_close(&file);
    EXPECT_EQ(File_delete(original_.c_str(), MPI_INFO_NULL), MPI_SUCCESS);
    EXPECT_EQ(open(MPI_COMM_SELF, MPI_MODE_RDONLY, &file), MPI_ERR_NO_SUCH_FILE);
    EXPECT_EQ(File_delete(original_.c_str(), MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  });
  EXPECT_TRUE(std::filesystem::is_empty(root_ / "backing"));
}

TEST_F(Originals, ThatAreOpenForReadingShowWhatAnotherCommunicatorWrites) {
  job_.run([&](int rank) {
    File reader = nullptr;
    ASSERT_EQ(open(MPI_COMM_WORLD, MPI_MODE_RDONLY, &reader), MPI_SUCCESS);
    EXPECT_EQ(text(reader), "text");
    Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
      File writer = nullptr;
      ASSERT_EQ(open(MPI_COMM_SELF, MPI_MODE_RDWR, &writer), MPI_SUCCESS);
      EXPECT_EQ(File_write_at(writer, 0, "n", 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
      File_close(&writer);
    }
    Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(text(reader), "next") << rank;
    File_close(&reader);
  });
}

TEST_F(Originals, ThatWereCopiedAreDeletedByACloseOfTheirReaders) {
  job_.run([&](int rank) {
    File reader = nullptr;
    ASSERT_EQ(open(MPI_COMM_WORLD, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, &reader),
              MPI_SUCCESS);
    File writer = nullptr;
    if (rank == 1) {
      ASSERT_EQ(open(MPI_COMM_SELF, MPI_MODE_RDWR, &writer), MPI_SUCCESS);
    }
    File_close(&reader);
    File again = nullptr;
    EXPECT_EQ(open(MPI_COMM_WORLD, MPI_MODE_RDONLY, &again), MPI_ERR_NO_SUCH_FILE);
    if (rank == 1) {
      EXPECT_EQ(text(writer), "text") << "a file without a name is kept until it is closed";
      File_close(&writer);
    }
  });
  EXPECT_TRUE(std::filesystem::is_empty(root_ / "backing"));
}

}  // namespace
}  // namespace sesame::mpi
