#include "core/trace/writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/trace/file_output.h"
#include "core/trace/stream_format.h"

namespace sesame::trace {

struct Writer::Stream {
  uint64_t first_timestamp = 0;  // of the current packet
  uint64_t last_timestamp = 0;   // of the stream
  uint64_t packets = 0;
  int descriptor = -1;
};

namespace {

// Returns the error number; 0 when it is written.
int write_file(const std::string& path, int flags, const std::string& text) {
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
  if (descriptor < 0) return errno;
  int failed = write_all(descriptor, text.data(), text.size());
  if (::close(descriptor) != 0 && failed == 0) failed = errno;
  return failed;
}

}  // namespace

std::string stream_file_name(uint32_t rank) {
  std::string number = std::to_string(rank);
  return "rank_" + std::string(number.size() < 5 ? 5 - number.size() : 0, '0') + number;
}

Writer::Writer(WriterOptions options) : options_(std::move(options)), streams_(options_.ranks) {
  size_t largest_event = sizeof(EventStart);
  for (size_t record : {sizeof(sesame_call_record), sizeof(sesame_message_record),
                        sizeof(sesame_file_call_record)}) {
    largest_event = std::max(largest_event, sizeof(EventStart) + record);
  }
  CHECK(options_.packet_bytes >= sizeof(PacketStart) + largest_event);
  CHECK(options_.packet_bytes <= kLargestPacketBytes);
  packet_ = std::make_unique_for_overwrite<std::byte[]>(options_.packet_bytes);
}

Result<std::unique_ptr<Writer>> Writer::open(WriterOptions options) {
  std::string path = options.directory + "/metadata";
  if (int failed = write_file(path, O_EXCL, metadata_text(options.metadata)); failed != 0) {
    return std::unexpected(write_error(path, failed));
  }
  return std::unique_ptr<Writer>(new Writer(std::move(options)));
}

Writer::~Writer() { (void)close(); }

void Writer::append(uint32_t rank, const sesame_call_record& record) {
  append_bytes(rank, SESAME_RECORD_call, record.end_ps, &record, sizeof record);
}

void Writer::append(uint32_t rank, const sesame_message_record& record) {
  append_bytes(rank, SESAME_RECORD_message, record.receive_complete_ps, &record, sizeof record);
}

void Writer::append(uint32_t rank, const sesame_file_call_record& record) {
  append_bytes(rank, SESAME_RECORD_file_call, record.end_ps, &record, sizeof record);
}

void Writer::add_ranks(uint32_t ranks) { streams_.resize(streams_.size() + ranks); }

uint16_t Writer::add_call_name(const std::string& name) {
  std::vector<std::string>& names = options_.metadata.call_names;
  names.push_back(name);
  const std::string path = options_.directory + "/metadata";
  if (int failed = write_file(path, O_TRUNC, metadata_text(options_.metadata)); failed != 0) {
    fail(path, failed);
  }
  return static_cast<uint16_t>(names.size() - 1);
}

void Writer::append_bytes(uint32_t rank, uint8_t id, int64_t timestamp_ps, const void* record,
                          size_t size) {
  CHECK(rank < streams_.size());
  Stream& stream = streams_[rank];
  if (failure_) [[unlikely]] {
    ++discarded_;
    return;
  }
  const size_t event = sizeof(EventStart) + size;
  if (used_ > 0 && (rank != packet_rank_ || used_ + event > options_.packet_bytes)) write_packet();
  if (used_ == 0) begin_packet(rank);
  // Timestamps of a stream must not decrease. The record of a receive that completed during later
  // work of its rank may be appended late: it gets the latest timestamp of the stream.
  auto timestamp = static_cast<uint64_t>(std::max<int64_t>(timestamp_ps, 0));
  stream.last_timestamp = std::max(stream.last_timestamp, timestamp);
  if (used_ == sizeof(PacketStart)) stream.first_timestamp = stream.last_timestamp;
  EventStart start{id, stream.last_timestamp};
  std::memcpy(packet_.get() + used_, &start, sizeof start);
  std::memcpy(packet_.get() + used_ + sizeof start, record, size);
  used_ += event;
}

void Writer::begin_packet(uint32_t rank) {
  packet_rank_ = rank;
  used_ = sizeof(PacketStart);
  streams_[rank].first_timestamp = streams_[rank].last_timestamp;
}

void Writer::write_packet() {
  const uint32_t rank = packet_rank_;
  Stream& stream = streams_[rank];
  const size_t size = std::exchange(used_, 0);
  PacketStart start{kPacketMagic,          kStreamId, rank,     stream.first_timestamp,
                    stream.last_timestamp, size * 8,  size * 8, stream.packets,
                    /*events_discarded=*/0};  // nothing is written after a failure
  std::memcpy(packet_.get(), &start, sizeof start);
  int descriptor = descriptor_of(rank, stream);
  if (descriptor < 0) return;
  if (int failed = write_all(descriptor, packet_.get(), size); failed != 0) {
    fail(path_of(rank), failed);
  } else {
    ++stream.packets;
  }
  if (descriptor != stream.descriptor) ::close(descriptor);
}

std::string Writer::path_of(uint32_t rank) const {
  return options_.directory + "/" + stream_file_name(rank);
}

// The open file of the stream, kept open while few are; -1 after an error.
int Writer::descriptor_of(uint32_t rank, Stream& stream) {
  if (stream.descriptor >= 0) return stream.descriptor;
  const std::string path = path_of(rank);
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    fail(path, errno);
  } else if (files_kept_open_ < options_.open_files) {
    stream.descriptor = descriptor;
    ++files_kept_open_;
  }
  return descriptor;
}

void Writer::fail(const std::string& path, int error_number) {
  if (!failure_) failure_ = write_error(path, error_number);
}

Result<> Writer::close() {
  if (!closed_) {
    closed_ = true;
    if (used_ > 0 && !failure_) write_packet();
    used_ = 0;
    for (uint32_t rank = 0; rank < streams_.size(); ++rank) {
      Stream& stream = streams_[rank];
      if (stream.descriptor >= 0 && ::close(stream.descriptor) != 0) {
        fail(path_of(rank), errno);
      }
      stream = Stream{};
    }
  }
  if (failure_) return std::unexpected(*failure_);
  return {};
}

}  // namespace sesame::trace
