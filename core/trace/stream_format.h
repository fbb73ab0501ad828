// The layout of a simulation's raw stream file: packets, each a header, a context and events
// without alignment. Shared by writer, reader and metadata text. Little-endian.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sesame::trace {

constexpr uint32_t kPacketMagic = 0xC1FC1FC1;        // fixed by CTF 1.8, section 5.1
constexpr uint32_t kStreamId = 0;                    // one class of streams: a rank
constexpr uint32_t kLargestPacketBytes = 64u << 20;  // readers refuse larger ones as damaged

// Packet header and packet context, in this order, as they lie in the file.
#pragma pack(push, 1)
struct PacketStart {
  uint32_t magic;
  uint32_t stream_id;
  uint32_t rank;
  uint64_t timestamp_begin;   // ps
  uint64_t timestamp_end;     // ps
  uint64_t content_bits;      // from the start of the packet, with this struct
  uint64_t packet_bits;       // the same: the writer does not pad
  uint64_t packet_number;     // counts from 0 in the stream
  uint64_t events_discarded;  // since the stream began
};

struct EventStart {
  uint8_t id;          // enum sesame_record_id
  uint64_t timestamp;  // ps; never smaller than the one before it in the stream
};
#pragma pack(pop)

static_assert(sizeof(PacketStart) == 60 && sizeof(EventStart) == 9);

}  // namespace sesame::trace
