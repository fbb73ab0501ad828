#include "core/mpi/io/io_list.h"

#include <gtest/gtest.h>

#include "core/mpi/io/representation.h"
#include "core/mpi/objects/datatype_create.h"
#include "core/mpi/objects/datatype_table.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using storage::Extent;

using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;

Pairs pairs(const std::vector<Extent>& list) {
  Pairs result;
  for (const Extent& extent : list) result.emplace_back(extent.offset, extent.bytes);
  return result;
}

void on_one_rank(const std::function<void(DatatypeTable&)>& body) {
  testing::SimulatedJob job(1);
  job.run([&](int) { body(this_rank().datatypes); });
}

FileView view_of(DatatypeTable& table, int64_t displacement, Datatype etype, Datatype filetype) {
  const DatatypeRef item(table.find(etype));
  const DatatypeRef file(table.find(filetype));
  return {displacement, item, file, &native_representation(), item, file};
}

// The first two of every five integers.
Datatype two_of_five(DatatypeTable& table) {
  Datatype pair, type;
  type_contiguous(table, 2, MPI_INT, &pair);
  type_create_resized(table, pair, 0, 20, &type);
  return type;
}

TEST(IoList, OfAContiguousViewIsOneExtent) {
  on_one_rank([](DatatypeTable& table) {
    const FileView view = view_of(table, 100, MPI_INT, MPI_INT);
    EXPECT_EQ(pairs(make_io_list(view, 10, 40, false)), (Pairs{{140, 40}}));
    EXPECT_EQ(byte_offset(view, 3), 112);
    EXPECT_EQ(items_below(view, 100), 0);
    EXPECT_EQ(items_below(view, 109), 3);
  });
}

TEST(IoList, FollowsTheFileTypeFromAnyItemOn) {
  on_one_rank([](DatatypeTable& table) {
    const FileView view = view_of(table, 8, MPI_INT, two_of_five(table));
    EXPECT_EQ(pairs(make_io_list(view, 0, 20, false)), (Pairs{{8, 8}, {28, 8}, {48, 4}}));
    EXPECT_EQ(pairs(make_io_list(view, 3, 12, false)), (Pairs{{32, 4}, {48, 8}}));
    EXPECT_EQ(byte_offset(view, 5), 52);
  });
}

TEST(IoList, KnowsHowManyItemsBeginBelowTheEnd) {
  on_one_rank([](DatatypeTable& table) {
    const FileView view = view_of(table, 8, MPI_INT, two_of_five(table));
    for (uint64_t end = 0; end < 200; ++end) {
      int64_t items = 0;
      while (byte_offset(view, items) < static_cast<int64_t>(end)) ++items;
      EXPECT_EQ(items_below(view, end), items) << end;
    }
  });
}

TEST(IoList, JoinsAdjacentExtents) {
  on_one_rank([](DatatypeTable& table) {
    const int sizes[2] = {4, 6}, subsizes[2] = {2, 6}, begin[2] = {1, 0};
    Datatype type;
    type_create_subarray(table, 2, sizes, subsizes, begin, MPI_ORDER_C, MPI_INT, &type);
    const FileView view = view_of(table, 0, MPI_INT, type);
    EXPECT_EQ(pairs(make_io_list(view, 0, 48, false)), (Pairs{{24, 48}}));
  });
}

// BTIO's class S: each rank has q cells, which are sub-arrays of a grid of 12^3 points with five
// doubles each. The file type has each cell once (SESAME report, table 8-3).
TEST(IoList, IsLiteralAsTheReportCountsIt) {
  on_one_rank([](DatatypeTable& table) {
    for (int q : {2, 3, 4}) {
      Datatype point;
      type_contiguous(table, 5, MPI_DOUBLE, &point);
      std::vector<Datatype> cells(static_cast<size_t>(q));
      const int grid[3] = {12, 12, 12}, size[3] = {12 / q, 12 / q, 12 / q};
      for (int c = 0; c < q; ++c) {
        const int begin[3] = {c * size[0], (q - 1 - c) * size[0], c * size[0]};
        type_create_subarray(table, 3, grid, size, begin, MPI_ORDER_FORTRAN, point,
                             &cells[static_cast<size_t>(c)]);
      }
      const std::vector<int> once(cells.size(), 1);
      const std::vector<Aint> nowhere(cells.size(), 0);
      Datatype all;
      type_create_struct(table, q, once.data(), nowhere.data(), cells.data(), &all);
      const FileView view = view_of(table, 0, point, all);
      const int64_t points = 12 * 12 * 12 / (q * q);
      const std::vector<Extent> list = make_io_list(view, points, points * 40, true);
      int64_t items = 0;
      for (const Extent& extent : list) items += extent.bytes == 40 ? 1 : 0;
      EXPECT_EQ(items, points);
      EXPECT_EQ(static_cast<int64_t>(list.size()) - items, 2 * q + 1);
      EXPECT_EQ(list.front().bytes, 0u);
      EXPECT_EQ(list.back().bytes, 0u);
    }
  });
}

TEST(IoList, IsEmptyWhereThereAreNoData) {
  on_one_rank([](DatatypeTable& table) {
    const FileView view = view_of(table, 0, MPI_INT, MPI_INT);
    EXPECT_TRUE(make_io_list(view, 5, 0, false).empty());
    EXPECT_TRUE(make_io_list(view, 5, 0, true).empty());
  });
}

}  // namespace
}  // namespace sesame::mpi
