#include "core/sim/record_tables.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <tuple>

#include "core/mpi/call_ids.h"
#include "core/trace/record_types.h"

namespace sesame::sim {
namespace {

using trace::parquet::Column;
using trace::parquet::ColumnSource;
using trace::parquet::ColumnType;
using trace::parquet::RecordSpan;

constexpr int64_t kPsPerNs = 1000;
constexpr char kOtherVersion[] =
    "this simulator and the command that started it are of different versions: build both again";

struct NamedSource {
  std::string_view name;
  ColumnSource source;
};

std::vector<NamedSource> sources_of_record(uint8_t id) {
  std::vector<NamedSource> sources{{"rank", {}}};
  for (const trace::FieldType& field : trace::find_record_type(id)->fields) {
    int width = 0;
    if (field.names == "call_name") width = std::bit_width(static_cast<unsigned>(mpi::kCallIds));
    if (field.names == "protocol_name") width = std::bit_width(trace::protocol_names().size() - 1);
    sources.push_back({field.name, {field.offset, field.size_bytes, width}});
  }
  return sources;
}

Result<std::vector<ColumnSource>> sources_of(const trace::parquet::Table& table,
                                             std::span<const NamedSource> known) {
  std::vector<ColumnSource> sources;
  for (const Column& column : table.columns) {
    const auto found = std::ranges::find(known, column.name, &NamedSource::name);
    const bool fits =
        found != known.end() &&
        (column.type == ColumnType::kName) == (found->source.name_width > 0) &&
        (column.type == ColumnType::kName ||
         (is_integer(column.type) && is_wide(column.type) == (found->source.size_bytes == 8)));
    if (!fits) {
      return error("table " + table.name + ": column " + column.name +
                   " is not recorded, or not with this type");
    }
    sources.push_back(found->source);
  }
  return sources;
}

template <typename Record>
RecordSpan records_of(uint32_t rank, const std::vector<Record>& records, size_t count) {
  return {rank, reinterpret_cast<const std::byte*>(records.data()), count};
}

// Sorts messages that are nearly in order, as a rank receives them: by insertion, unless records
// are far from their places.
void sort_messages(std::span<sesame_message_record> messages) {
  size_t moves_left = 8 * messages.size();
  for (size_t next = 1; next < messages.size(); ++next) {
    if (!completes_earlier(messages[next], messages[next - 1])) continue;
    const sesame_message_record moved = messages[next];
    size_t at = next;
    for (; at > 0 && completes_earlier(moved, messages[at - 1]); --at)
      messages[at] = messages[at - 1];
    messages[at] = moved;
    if (next - at > moves_left) {
      std::ranges::sort(messages, completes_earlier);
      return;
    }
    moves_left -= next - at;
  }
}

template <typename Record>
void erase_first(std::vector<Record>& records, size_t count) {
  records.erase(records.begin(), records.begin() + static_cast<ptrdiff_t>(count));
}

}  // namespace

bool completes_earlier(const sesame_message_record& a, const sesame_message_record& b) {
  if (a.receive_complete_ps != b.receive_complete_ps) {
    return a.receive_complete_ps < b.receive_complete_ps;
  }
  const auto other_fields = [](const sesame_message_record& m) {
    return std::tuple(m.arrival_ps, m.send_ps, m.source, m.context, m.tag, m.bytes);
  };
  return other_fields(a) < other_fields(b);
}

Result<std::unique_ptr<RecordTables>> RecordTables::open(
    const std::vector<trace::parquet::Table>& tables, const std::string& directory, int ranks) {
  std::unique_ptr<RecordTables> opened(new RecordTables(ranks));
  opened->directory_ = directory;
  for (const trace::parquet::Table& table : tables) {
    if (auto good = opened->open_table(table, directory); !good) {
      return std::unexpected(good.error());
    }
  }
  if (!opened->call_table_ || !opened->message_table_ || !opened->io_table_) {
    return error("a table is missing: expected call, message and io", kOtherVersion);
  }
  return opened;
}

Result<> RecordTables::open_table(const trace::parquet::Table& table,
                                  const std::string& directory) {
#define SOURCE(field)                                                     \
  NamedSource {                                                           \
#field, ColumnSource { offsetof(IoRow, field), sizeof(IoRow::field) } \
  }
  static constexpr std::array kIoSources{
      NamedSource{"rank", {}},
      SOURCE(begin_ns),
      SOURCE(duration_ns),
      SOURCE(offset),
      SOURCE(size),
      SOURCE(bytes),
      SOURCE(file),
      SOURCE(other_file),
      SOURCE(handle),
      SOURCE(comm),
      SOURCE(completion),
      SOURCE(thread),
      SOURCE(error),
      SOURCE(flags),
      NamedSource{"call", ColumnSource{offsetof(IoRow, call), sizeof(IoRow::call), 16}}};
#undef SOURCE
  const auto make = [&](std::span<const NamedSource> known, size_t record_bytes,
                        std::unique_ptr<Table>& made) -> Result<> {
    auto sources = sources_of(table, known);
    if (!sources) return std::unexpected(sources.error());
    made = std::make_unique<Table>(table, *std::move(sources), record_bytes, directory);
    return {};
  };
  if (table.name == "call") {
    return make(sources_of_record(SESAME_RECORD_call), sizeof(sesame_call_record), call_table_);
  }
  if (table.name == "message") {
    return make(sources_of_record(SESAME_RECORD_message), sizeof(sesame_message_record),
                message_table_);
  }
  if (table.name == "io") return make(kIoSources, sizeof(IoRow), io_table_);
  return error("table " + table.name + ": unknown, expected call, message or io", kOtherVersion);
}

void RecordTables::add_ranks(int ranks) {
  ranks_.resize(ranks_.size() + static_cast<size_t>(ranks));
}

void RecordTables::add(uint32_t rank, const sesame_file_call_record& call) {
  std::unique_ptr<FileCalls>& files = ranks_[rank].files;
  if (files == nullptr) files = std::make_unique<FileCalls>();
  files->pending.push_back(call);
  has_file_calls_ = true;
}

void RecordTables::write_until(uint32_t rank, SimTime now) {
  write_calls(rank);
  write_messages(rank, now);
  write_file_calls(rank, now);
}

void RecordTables::write_calls(uint32_t rank) {
  std::vector<sesame_call_record>& calls = ranks_[rank].calls;
  erase_first(calls, call_table_->append(records_of(rank, calls, calls.size())));
}

void RecordTables::write_messages(uint32_t rank, SimTime now) {
  RankRecords& mine = ranks_[rank];
  std::vector<sesame_message_record>& records = mine.messages;
  const auto unsettled = std::span(records).subspan(mine.settled_messages);
  sort_messages(unsettled);
  // Messages received at `now` may not all be known.
  const auto end = std::ranges::lower_bound(unsettled, now.ps(), {},
                                            &sesame_message_record::receive_complete_ps);
  const size_t settled = mine.settled_messages + static_cast<size_t>(end - unsettled.begin());
  const size_t encoded = message_table_->append(records_of(rank, records, settled));
  erase_first(records, encoded);
  mine.settled_messages = static_cast<uint32_t>(settled - encoded);
  mine.message_limit = static_cast<uint32_t>(std::max(kFullMessages, 2 * records.size()));
}

// Sorts rows by begin, an outer call before those nested in it. A call is recorded when it ends, so
// calls that begin at `now` stay pending: an outer one with the same begin may follow.
void RecordTables::write_file_calls(uint32_t rank, SimTime now) {
  if (ranks_[rank].files == nullptr) return;
  auto& [pending, settled, limit] = *ranks_[rank].files;
  if (pending.empty()) return;
  std::vector<uint32_t> order(pending.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](uint32_t i) { return pending[i].begin_ps >= now.ps(); });
  // Of two calls with equal begin and end, the one recorded later is the outer one.
  std::ranges::sort(order, {}, [&](uint32_t i) {
    return std::tuple(pending[i].begin_ps, -pending[i].end_ps, -static_cast<int64_t>(i));
  });
  for (const uint32_t i : order) {
    const sesame_file_call_record& call = pending[i];
    const int64_t begin_ns = call.begin_ps / kPsPerNs;
    settled.push_back({.begin_ns = begin_ns,
                       .duration_ns = call.end_ps / kPsPerNs - begin_ns,
                       .offset = call.offset,
                       .size = call.size,
                       .bytes = call.bytes,
                       .file = call.file,
                       .other_file = -1,
                       .handle = call.handle,
                       .comm = -1,
                       .completion = 0,
                       .thread = 0,
                       .call = call.call,
                       .error = call.error,
                       .flags = static_cast<uint16_t>(call.flags)});
  }
  std::erase_if(pending, [&](const auto& call) { return call.begin_ps < now.ps(); });
  limit = std::max(kFull, 2 * pending.size());
  erase_first(settled, io_table_->append(records_of(rank, settled, settled.size())));
}

Result<std::map<std::string, uint64_t>> RecordTables::close(
    const std::vector<std::string>& call_names) {
  const auto ranks = static_cast<uint32_t>(ranks_.size());
  for (uint32_t rank = 0; rank < ranks; ++rank) write_until(rank, SimTime::never());
  const std::span<const std::string> calls = call_names;
  std::map<std::string, uint64_t> rows;
  const auto write = [&](Table& table, const std::string& name, const auto& remaining,
                         const std::span<const std::string>& names) -> Result<> {
    const auto path = directory_ + "/" + name + ".parquet";
    auto written = table.write(path, ranks, remaining, {&names, 1});
    if (!written) return std::unexpected(written.error());
    rows[name] = *written;
    return {};
  };
  auto written = write(
      *call_table_, "call",
      [&](uint32_t rank) {
        return records_of(rank, ranks_[rank].calls, ranks_[rank].calls.size());
      },
      calls);
  if (written) {
    written = write(
        *message_table_, "message",
        [&](uint32_t rank) {
          return records_of(rank, ranks_[rank].messages, ranks_[rank].messages.size());
        },
        trace::protocol_names());
  }
  if (written && has_file_calls_) {
    written = write(
        *io_table_, "io",
        [&](uint32_t rank) {
          const FileCalls* files = ranks_[rank].files.get();
          return files == nullptr ? RecordSpan{rank, nullptr, 0}
                                  : records_of(rank, files->settled, files->settled.size());
        },
        calls);
  }
  if (!written) return std::unexpected(written.error());
  return rows;
}

const std::optional<Error>& RecordTables::failure() const {
  for (const auto* table : {call_table_.get(), message_table_.get()}) {
    if (table->failure()) return table->failure();
  }
  return io_table_->failure();
}

}  // namespace sesame::sim
