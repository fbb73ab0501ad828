#include "core/postprocess/columns.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

#include "core/base/check.h"

namespace sesame::postprocess {
namespace {

// Rows of one block stay in the cache while its columns are filled.
constexpr size_t kBlock = 128;

template <typename Row>
struct Block {
  const RowStore<Row>& rows;
  const uint32_t* order;
  size_t from;
  size_t count;

  const Row& row(size_t i) const { return rows[order == nullptr ? from + i : order[from + i]]; }
};

template <typename Row, typename T, typename Get>
void fill(const Block<Row>& block, T* out, Get get) {
  for (size_t i = 0; i < block.count; ++i) out[i] = get(block.row(i));
}

template <typename Row>
void fill_times(const Block<Row>& block, const HostClock& clock, int64_t* out) {
  if (clock.drift == 0) {
    fill(block, out, [&](const Row& row) { return row.begin + clock.offset; });
  } else {
    fill(block, out, [&](const Row& row) { return clock.at(row.begin); });
  }
}

template <typename Row>
void fill_call(const Block<Row>& block, const RowOrigin& origin, CallColumns& columns) {
  const size_t at = columns.rows;
  std::fill_n(columns.rank.data() + at, block.count, origin.rank);
  std::fill_n(columns.thread.data() + at, block.count, origin.thread);
  fill_times(block, origin.clock, columns.begin_ns.data() + at);
  fill(block, columns.duration_ns.data() + at, [](const Row& row) { return row.duration; });
  fill(block, columns.call.data() + at, [&](const Row& row) { return (*origin.calls)[row.call]; });
  fill(block, columns.comm.data() + at, [](const Row& row) { return row.comm; });
  fill(block, columns.completion.data() + at, [](const Row& row) { return row.completion; });
  fill(block, columns.bytes.data() + at, [](const Row& row) { return row.bytes; });
  fill(block, columns.flags.data() + at, [](const Row& row) { return row.flags; });
}

// `fill_rest` fills the columns that only records of this type have.
template <typename Row, typename FillRest>
void append_blocks(CallColumns& columns, const RowOrigin& origin, Block<Row> all,
                   FillRest fill_rest) {
  CHECK(all.count <= columns.capacity - columns.rows);
  for (size_t done = 0; done < all.count; done += kBlock) {
    Block<Row> block{all.rows, all.order, all.from + done, std::min(kBlock, all.count - done)};
    fill_call(block, origin, columns);
    fill_rest(block);
    columns.rows += block.count;
  }
}

// Never destroyed: batches may live as long as the interpreter.
struct SpareMemory {
  static constexpr size_t kMostBlocks = 64;
  std::mutex lock;
  std::unordered_map<size_t, std::vector<void*>> blocks;  // by size
};

SpareMemory& spare_memory() {
  static auto* spare = new SpareMemory;
  return *spare;
}

}  // namespace

ColumnMemory::ColumnMemory(size_t bytes) : bytes_(bytes), memory_(nullptr) {
  SpareMemory& spare = spare_memory();
  {
    std::lock_guard guard(spare.lock);
    std::vector<void*>& blocks = spare.blocks[bytes];
    if (!blocks.empty()) {
      memory_ = blocks.back();
      blocks.pop_back();
    }
  }
  if (memory_ == nullptr) memory_ = std::malloc(bytes);
  CHECK(memory_ != nullptr);
}

ColumnMemory::~ColumnMemory() {
  SpareMemory& spare = spare_memory();
  std::lock_guard guard(spare.lock);
  std::vector<void*>& blocks = spare.blocks[bytes_];
  if (blocks.size() < SpareMemory::kMostBlocks) {
    blocks.push_back(memory_);
  } else {
    std::free(memory_);
  }
}

CallColumns::CallColumns(size_t most)
    : capacity(most),
      rank(most),
      thread(most),
      begin_ns(most),
      duration_ns(most),
      call(most),
      comm(most),
      completion(most),
      bytes(most),
      flags(most) {}

IoColumns::IoColumns(size_t most)
    : CallColumns(most),
      file(most),
      other_file(most),
      handle(most),
      offset(most),
      size(most),
      error(most) {}

void IoColumns::append(const RowOrigin& origin, const RowStore<IoRow>& source,
                       const uint32_t* order, size_t from, size_t count) {
  auto file_of = [&](int32_t number) {
    return number < 0 ? -1 : (*origin.files)[static_cast<size_t>(number)];
  };
  Block<IoRow> all{source, order, from, count};
  append_blocks(*this, origin, all, [&](const Block<IoRow>& block) {
    fill(block, file.data() + rows, [&](const IoRow& row) { return file_of(row.file); });
    fill(block, other_file.data() + rows,
         [&](const IoRow& row) { return file_of(row.other_file); });
    fill(block, handle.data() + rows, [](const IoRow& row) { return row.handle; });
    fill(block, offset.data() + rows, [](const IoRow& row) { return row.offset; });
    fill(block, size.data() + rows, [](const IoRow& row) { return row.size; });
    fill(block, error.data() + rows, [](const IoRow& row) { return row.error; });
  });
}

MpiColumns::MpiColumns(size_t most)
    : CallColumns(most), peer(most), tag(most), made(most), calls(most) {}

void MpiColumns::append(const RowOrigin& origin, const RowStore<MpiRow>& source,
                        const uint32_t* order, size_t from, size_t count) {
  Block<MpiRow> all{source, order, from, count};
  append_blocks(*this, origin, all, [&](const Block<MpiRow>& block) {
    fill(block, peer.data() + rows, [](const MpiRow& row) { return row.peer; });
    fill(block, tag.data() + rows, [](const MpiRow& row) { return row.tag; });
    fill(block, made.data() + rows, [](const MpiRow& row) { return row.made; });
    fill(block, calls.data() + rows, [](const MpiRow& row) { return row.calls; });
  });
}

void PreemptedColumns::append(const RowOrigin& origin, const std::vector<PreemptedRow>& rows) {
  for (const PreemptedRow& row : rows) {
    rank.push_back(origin.rank);
    thread.push_back(origin.thread);
    begin_ns.push_back(origin.clock.at(row.begin));
    duration_ns.push_back(row.duration);
    lost_ns.push_back(row.lost);
  }
}

void ViewColumns::append(const RowOrigin& origin, const std::vector<ViewRow>& rows) {
  for (const ViewRow& row : rows) {
    rank.push_back(origin.rank);
    begin_ns.push_back(origin.clock.at(row.begin));
    handle.push_back(row.handle);
    file.push_back(row.file < 0 ? -1 : (*origin.files)[static_cast<size_t>(row.file)]);
    displacement.push_back(row.displacement);
    data_bytes.push_back(row.size);
    extent.push_back(row.extent);
    runs.push_back(row.runs);
  }
}

}  // namespace sesame::postprocess
