#include "core/postprocess/communicators.h"

#include <algorithm>

namespace sesame::postprocess {
namespace {

constexpr size_t kMostNumbers = 1 << 24;  // a damaged number must not make us reserve memory

Members members_of(const trace::ListView& list) {
  Members members;
  members.runs.reserve(list.size);
  for (uint32_t i = 0; i < list.size; ++i) members.runs.push_back(list[i]);
  return members;
}

}  // namespace

std::vector<int32_t> Members::ranks() const {
  constexpr size_t kMostRanks = 1 << 20;
  std::vector<int32_t> ranks;
  for (size_t i = 0; i + 2 < runs.size(); i += 3) {
    int64_t rank = runs[i];
    for (int32_t n = 0; n < runs[i + 1] && ranks.size() < kMostRanks; ++n, rank += runs[i + 2]) {
      ranks.push_back(static_cast<int32_t>(rank));
    }
  }
  return ranks;
}

CommTable::CommTable(const CallTraits& traits)
    : traits_(traits), instances_(1), numbers_{0}, constructors_{0} {}

void CommTable::set_world_size(int32_t size) { instances_[0].members.runs = {0, size, 1}; }

int32_t CommTable::make(const trace::communicator_record& record) {
  CommInstance made;
  made.parent = instance(record.parent);
  made.members = members_of(record.members);
  made.remote = members_of(record.remote);
  made.over_group = made.parent < 0 || traits_.has(record.call, kOverGroup);
  if (made.over_group) {
    made.ordinal = group_calls_[std::minmax(made.members, made.remote)]++;
  } else {
    made.ordinal = constructors_[static_cast<size_t>(made.parent)]++;
  }
  if (record.comm < 0) return -1;
  auto number = static_cast<size_t>(record.comm);
  if (number >= kMostNumbers) return -1;
  auto index = static_cast<int32_t>(instances_.size());
  instances_.push_back(std::move(made));
  constructors_.push_back(0);
  if (number >= numbers_.size()) numbers_.resize(number + 1, -1);
  numbers_[number] = index;
  return index;
}

void CommTable::set_name(int32_t number, std::string_view name) {
  int32_t index = instance(number);
  if (index >= 0) instances_[static_cast<size_t>(index)].name = name;
}

}  // namespace sesame::postprocess
