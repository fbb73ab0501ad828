// Data representations whose functions misbehave: they answer otherwise when they are asked again,
// or give sizes that no buffer can have.
#include "core/mpi/io/representation.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "core/mpi/api.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::SimulatedJob;

Aint extent_now = 4;
int times_asked = 0;

int find_extent(Datatype, Aint* extent, void*) {
  ++times_asked;
  *extent = extent_now;
  return MPI_SUCCESS;
}

int keep(void*, Datatype, Count, void*, Offset, void*) { return MPI_SUCCESS; }

// Runs `body` with a file for whose integers the functions above are set.
void with_file(const std::function<void(File)>& body) {
  extent_now = 4;
  SimulatedJob job(1);
  job.run([&](int) {
    const auto convert = reinterpret_cast<Function>(keep);
    ASSERT_EQ(Register_datarep("odd", convert, convert, reinterpret_cast<Function>(find_extent),
                               nullptr, false),
              MPI_SUCCESS);
    const std::string path =
        std::filesystem::temp_directory_path() / ("representation" + std::to_string(getpid()));
    File file = nullptr;
    ASSERT_EQ(
        File_open(MPI_COMM_SELF, path.c_str(),
                  MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file),
        MPI_SUCCESS);
    body(file);
    File_close(&file);
  });
}

int use(File file) { return File_set_view(file, 0, MPI_INT, MPI_INT, "odd", MPI_INFO_NULL); }

TEST(Representation, CallAsksOnceForTheSizeInTheFile) {
  with_file([](File file) {
    ASSERT_EQ(use(file), MPI_SUCCESS);
    int data[10] = {};
    times_asked = 0;
    EXPECT_EQ(File_write_at(file, 0, data, 10, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(times_asked, 1);
    EXPECT_EQ(File_read_at(file, 0, data, 10, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(times_asked, 2);
  });
}

TEST(Representation, ElementsHaveSizesThatBuffersCanHave) {
  with_file([](File file) {
    for (const Aint extent : {Aint{-1}, Aint{1} << 40, Aint{1} << 62, INT64_MIN}) {
      extent_now = extent;
      EXPECT_EQ(use(file), MPI_ERR_CONVERSION) << extent;
    }
  });
}

TEST(Representation, CallsFailWhoseDataAreLongerThanAnyBuffer) {
  with_file([](File file) {
    ASSERT_EQ(use(file), MPI_SUCCESS);
    int data[1] = {};
    Datatype type = MPI_DATATYPE_NULL;
    Type_contiguous(1 << 30, MPI_INT, &type, false);
    Type_commit(&type);
    for (const Aint extent : {Aint{-1}, Aint{1} << 18, Aint{INT32_MAX}, Aint{1} << 62}) {
      extent_now = extent;
      EXPECT_EQ(File_write_at(file, 0, data, 1, type, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
      EXPECT_EQ(File_read_at(file, 0, data, 1, type, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
    }
    Type_free(&type);
  });
}

TEST(Representation, FileTypeWithoutDataInTheFileTakesNone) {
  with_file([](File file) {
    extent_now = 0;
    ASSERT_EQ(use(file), MPI_SUCCESS);
    int data[1] = {};
    EXPECT_EQ(File_write_at(file, 0, data, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    extent_now = 4;
    EXPECT_EQ(File_write_at(file, 0, data, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
  });
}

}  // namespace
}  // namespace sesame::mpi
