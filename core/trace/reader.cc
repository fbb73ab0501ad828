#include "core/trace/reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/trace/record_types.h"

namespace sesame::trace {
namespace {

std::string read_failure() { return std::string("cannot read: ") + std::strerror(errno); }

// False when the file ends first. A damaged length must not make us reserve what the file does
// not hold, so the buffer grows as data arrives.
bool read_exactly(FILE* file, std::vector<std::byte>& bytes, size_t size) {
  constexpr size_t kStep = 1 << 20;
  bytes.clear();
  while (bytes.size() < size) {
    size_t had = bytes.size();
    bytes.resize(had + std::min(kStep, size - had));
    size_t got = std::fread(bytes.data() + had, 1, bytes.size() - had, file);
    if (had + got < bytes.size()) {
      bytes.resize(had + got);
      return false;
    }
  }
  return true;
}

}  // namespace

StreamBatch::StreamBatch() {
  for (const RecordType& type : record_types()) records.push_back({type.id, {}});
}

size_t StreamBatch::size_bytes() const {
  size_t size = 0;
  for (const RecordBatch& batch : records) size += batch.bytes.size();
  return size;
}

StreamReader::StreamReader(std::string path, FILE* file) : path_(std::move(path)), file_(file) {}

StreamReader::~StreamReader() { std::fclose(file_); }

Result<std::unique_ptr<StreamReader>> StreamReader::open(const std::string& path) {
  FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return error_at(path, 0, read_failure());
  return std::unique_ptr<StreamReader>(new StreamReader(path, file));
}

Result<StreamBatch> StreamReader::read(size_t size_bytes) {
  StreamBatch batch;
  if (auto done = read_into(batch, size_bytes); !done) return std::unexpected(done.error());
  return batch;
}

Result<> StreamReader::read_into(StreamBatch& batch, size_t size_bytes) {
  if (pending_) return std::unexpected(*pending_);
  batch.at_end = false;
  const size_t had = batch.size_bytes();
  const uint64_t start = read_bytes_;
  while (read_bytes_ - start < size_bytes) {
    auto more = read_packet(batch);
    if (!more) {
      pending_ = more.error();
      if (batch.size_bytes() == had) return std::unexpected(*pending_);
      return {};
    }
    if (!*more) {
      batch.at_end = true;
      return {};
    }
  }
  return {};
}

// False at the end of the stream.
Result<bool> StreamReader::read_packet(StreamBatch& batch) {
  PacketStart start;
  size_t got = std::fread(&start, 1, sizeof start, file_);
  if (got == 0 && std::ferror(file_) == 0) return false;
  if (std::ferror(file_) != 0) return error_at(path_, 0, read_failure());
  if (got < sizeof start) return damage("the stream is cut off");
  if (auto good = check_packet_start(start); !good) return std::unexpected(good.error());
  bool whole = read_exactly(file_, events_, start.packet_bits / 8 - sizeof start);
  size_t content = start.content_bits / 8 - sizeof start;
  if (events_.size() > content) events_.resize(content);
  rank_ = start.rank;
  discarded_ = start.events_discarded;
  if (auto taken = take_events(batch); !taken) return std::unexpected(taken.error());
  if (!whole) return damage("the stream is cut off");
  offset_ += start.packet_bits / 8;
  read_bytes_ += start.packet_bits / 8;
  ++packets_;
  return true;
}

Result<> StreamReader::check_packet_start(const PacketStart& start) const {
  if (start.magic != kPacketMagic || start.stream_id != kStreamId) {
    return damage("this is not a packet of a raw trace");
  }
  if (start.content_bits % 8 != 0 || start.packet_bits % 8 != 0 ||
      start.content_bits > start.packet_bits || start.content_bits / 8 < sizeof start ||
      start.packet_bits / 8 > kLargestPacketBytes) {
    return damage("the packet's length is wrong");
  }
  if (packets_ > 0 && start.rank != rank_) return damage("the packet is of another rank");
  return {};
}

Result<> StreamReader::take_events(StreamBatch& batch) {
  const std::span<const RecordType> types = record_types();
  size_t position = 0;
  while (position < events_.size()) {
    const auto id = std::to_integer<uint8_t>(events_[position]);
    const auto type = std::ranges::find(types, id, &RecordType::id);
    if (type == types.end()) {
      return damage("record type " + std::to_string(id) + ", which this version does not know");
    }
    const size_t record = position + sizeof(EventStart);
    if (record + type->size_bytes > events_.size()) return damage("the stream is cut off");
    const std::byte* from = events_.data() + record;
    std::vector<std::byte>& into = batch.records[static_cast<size_t>(type - types.begin())].bytes;
    into.insert(into.end(), from, from + type->size_bytes);
    position = record + type->size_bytes;
  }
  return {};
}

std::unexpected<Error> StreamReader::damage(const std::string& what) const {
  return error_at(path_, 0, what + ", in the packet at byte " + std::to_string(offset_),
                  "the records before it are good");
}

Result<Metadata> read_metadata(const std::string& directory) {
  constexpr size_t kLargest = 16u << 20;
  std::string path = directory + "/metadata";
  FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return error_at(path, 0, read_failure());
  std::vector<std::byte> bytes;
  read_exactly(file, bytes, kLargest);
  std::fclose(file);
  return parse_metadata({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

Result<std::vector<std::string>> stream_files(const std::string& directory) {
  std::error_code failed;
  std::vector<std::string> paths;
  std::filesystem::directory_iterator entries(directory, failed);
  if (failed) return error_at(directory, 0, "cannot read: " + failed.message());
  for (const auto& entry : entries) {
    if (entry.path().filename().string().starts_with("rank_")) paths.push_back(entry.path());
  }
  // Names are padded with zeros, so shorter names are smaller ranks.
  std::ranges::sort(paths, [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return paths;
}

}  // namespace sesame::trace
