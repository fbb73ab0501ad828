#include "core/storage/space.h"

#include <algorithm>

namespace sesame::storage {

namespace {

// The capacity of one device or member: the smaller of the configured one and the medium's.
uint64_t member_capacity(const machine::DeviceParameters& device) {
  const uint64_t medium =
      device.kind == machine::DeviceKind::kDisk
          ? uint64_t{device.cylinders} * device.heads * device.sectors_per_track * device.sector
          : 0;
  if (device.capacity == 0 || medium == 0) return std::max(device.capacity, medium);
  return std::min(device.capacity, medium);
}

}  // namespace

uint64_t device_capacity(const machine::DeviceParameters& device) {
  const uint64_t capacity = member_capacity(device);
  const auto members = static_cast<uint64_t>(device.members);
  switch (device.raid) {
    case machine::RaidLevel::kNone:
      return capacity;
    case machine::RaidLevel::k0:
      return capacity * members;
    case machine::RaidLevel::k3:
    case machine::RaidLevel::k5:
      return capacity * (members - 1);
  }
  return 0;
}

Space::Space(const machine::StorageParameters& parameters, const Layouts& layouts)
    : layouts_(layouts),
      block_(parameters.block),
      devices_(layouts.usual().ionodes(),
               Allocation(device_capacity(parameters.device) / parameters.block)) {}

Allocation::Cell& Space::cell_of(FileId file, uint32_t cell) {
  const auto index = static_cast<size_t>(file);
  if (index >= files_.size()) files_.resize(index + 1);
  if (files_[index].empty()) files_[index].resize(layouts_.of(file).cells());
  return files_[index][cell];
}

bool Space::resize(FileId file, uint64_t before, uint64_t after) {
  if (after < before) {
    shrink(file, after);
    return true;
  }
  if (grow(file, before, after)) return true;
  shrink(file, before);
  return false;
}

bool Space::grow(FileId file, uint64_t before, uint64_t after) {
  bool has_space = true;
  layouts_.of(file).cut({before, after - before}, [&](const CellRange& range) {
    const uint64_t blocks = (range.begin + range.bytes + block_ - 1) / block_;
    has_space = has_space && device_of(file, range.cell).grow(cell_of(file, range.cell), blocks);
  });
  return has_space;
}

void Space::shrink(FileId file, uint64_t bytes) {
  const Layout& layout = layouts_.of(file);
  for (uint32_t cell = 0; cell < layout.cells(); ++cell) {
    const uint64_t blocks = (layout.cell_bytes(cell, bytes) + block_ - 1) / block_;
    device_of(file, cell).shrink(cell_of(file, cell), blocks);
  }
}

Allocation::Run Space::find(FileId file, uint32_t cell, uint64_t cell_block) {
  Allocation::Cell& extents = cell_of(file, cell);
  if (cell_block >= Allocation::blocks_of(extents) &&
      !device_of(file, cell).grow(extents, cell_block + 1)) {
    return {0, 1};
  }
  return Allocation::find(extents, cell_block);
}

}  // namespace sesame::storage
