#include "core/trace/packet_index.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "core/trace/reader.h"
#include "core/trace/stream_format.h"
#include "core/trace/writer.h"

namespace sesame::trace {
namespace {

std::vector<StreamSource> sources_in_file(const std::string& path, int descriptor) {
  std::map<uint32_t, std::vector<uint64_t>> packets;
  uint64_t offset = 0;
  uint32_t rank = 0;
  PacketStart start;
  while (true) {
    const ssize_t got = pread(descriptor, &start, sizeof start, static_cast<off_t>(offset));
    if (got == 0) break;
    const bool whole = got == static_cast<ssize_t>(sizeof start) && start.magic == kPacketMagic &&
                       start.packet_bits / 8 >= sizeof start;
    if (whole) rank = start.rank;
    packets[rank].push_back(offset);
    if (!whole) break;
    offset += start.packet_bits / 8;
  }
  std::vector<StreamSource> sources;
  for (auto& [number, of_rank] : packets) sources.push_back({path, std::move(of_rank)});
  return sources;
}

}  // namespace

Result<std::vector<StreamSource>> stream_sources(const std::string& directory) {
  const std::string shared = directory + "/" + kSharedFileName;
  if (const int descriptor = ::open(shared.c_str(), O_RDONLY | O_CLOEXEC); descriptor >= 0) {
    std::vector<StreamSource> sources = sources_in_file(shared, descriptor);
    ::close(descriptor);
    return sources;
  }
  if (errno != ENOENT) {
    return error_at(shared, 0, std::string("cannot read: ") + std::strerror(errno));
  }
  auto paths = stream_files(directory);
  if (!paths) return std::unexpected(paths.error());
  std::vector<StreamSource> sources;
  for (std::string& path : *paths) sources.push_back({std::move(path), {}});
  return sources;
}

}  // namespace sesame::trace
