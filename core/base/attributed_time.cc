#ifdef SESAME_SENSITIVITY

#include "core/base/attributed_time.h"

#include <algorithm>
#include <array>

#include "core/base/check.h"
#include "core/base/pool.h"

namespace sesame {
namespace {

constexpr size_t kBlockBytes = 256 << 10;
constexpr uint16_t kNoSlot = UINT16_MAX;
// For parameters that are named after the first Attribution is made.
constexpr size_t kSpareSlots = 8;
// The range of a slope does not end where a rival would become later by less than this part of the
// time: so small a difference changes no prediction.
constexpr double kNegligible = 1e-4;
// A rival that is earlier than this part of the time does not limit any range that matters.
constexpr int64_t kFarEarlier = 8;

struct FreeBlock {
  FreeBlock* next;
};

std::vector<std::string>& known_names() {
  static std::vector<std::string> names{"other"};
  return names;
}

// By the parameter's number.
std::array<uint16_t, Parameter::kMost> slot_of = [] {
  std::array<uint16_t, Parameter::kMost> slots;
  slots.fill(kNoSlot);
  return slots;
}();
size_t most_slots = 0;  // fixed when the first parameter gets one
uint32_t kept_steps = 1 << 15;
FreeBlock* free_small = nullptr;
FreeBlock* free_large = nullptr;

void* take(FreeBlock*& list, size_t bytes) {
  if (list == nullptr) {
    char* block = static_cast<char*>(allocate_block(kBlockBytes, 64));
    for (size_t at = 0; at + bytes <= kBlockBytes; at += bytes)
      list = new (block + at) FreeBlock{list};
  }
  return std::exchange(list, list->next);
}

void give_back(FreeBlock*& list, void* block) { list = new (block) FreeBlock{list}; }

void release(const PathStep* step) {
  while (step != nullptr && --step->references == 0) {
    const PathStep* const previous = step->previous;
    delete step;
    step = previous;
  }
}

bool is_before(const PathStep* a, const PathStep* b) {
  if (a == nullptr || b == nullptr) return a == nullptr && b != nullptr;
  if (a->until_ps != b->until_ps) return a->until_ps < b->until_ps;
  return a->rank < b->rank;
}

}  // namespace

Parameter Parameter::of(std::string_view name) {
  std::vector<std::string>& names = known_names();
  const auto known = std::ranges::find(names, name);
  const auto number = static_cast<size_t>(known - names.begin());
  if (known == names.end()) names.emplace_back(name);
  CHECK(number < kMost);
  return Parameter(static_cast<uint8_t>(number));
}

const std::vector<std::string>& Parameter::names() { return known_names(); }

void Attribution::keep_steps(uint32_t steps) { kept_steps = steps; }

uint16_t Attribution::make_slot(uint8_t parameter) {
  if (most_slots == 0) most_slots = known_names().size() + kSpareSlots;
  CHECK(used_slots < most_slots);
  return slot_of[parameter] = used_slots++;
}

uint16_t Attribution::find_slot(uint8_t parameter) {
  const uint16_t slot = slot_of[parameter];
  return slot != kNoSlot ? slot : make_slot(parameter);
}

Attribution::Share Attribution::share_of(Parameter parameter) const {
  const uint16_t slot = slot_of[parameter.number()];
  if (slot >= groups_ * kGroupSlots) return {};
  const Group& in = group(slot / kGroupSlots);
  const size_t i = slot % kGroupSlots;
  return {in.ps[i], in.rise[i], in.fall[i]};
}

bool Attribution::agrees_with(const Attribution& other) const {
  if (groups_ != other.groups_) return false;
  for (size_t i = 0; i < groups_; ++i) {
    if (group(i).ps != other.group(i).ps) return false;
  }
  return true;
}

Attribution* Attribution::make() {
  const bool is_small = used_slots <= kGroupSlots;
  const size_t groups = is_small ? 1 : (most_slots + kGroupSlots - 1) / kGroupSlots;
  const size_t bytes = sizeof(Attribution) + groups * sizeof(Group);
  auto* made = new (take(is_small ? free_small : free_large, bytes)) Attribution;
  made->groups_ = static_cast<uint16_t>(groups);
  return made;
}

Attribution* Attribution::make_zero() {
  Attribution* made = make();
  for (size_t i = 0; i < made->groups_; ++i) new (&made->group(i)) Group;
  return made;
}

Attribution* Attribution::copy() const {
  Attribution* made = make();
  new (&made->group(0)) Group(group(0));
  for (size_t i = 1; i < made->groups_; ++i) {
    new (&made->group(i)) Group(i < groups_ ? group(i) : Group());
  }
  made->has_departed_ = has_departed_;
  made->set_step(step_);
  made->until_ps_ = until_ps_;
  return made;
}

// Limits the ranges of a winner by those of a rival with these derivatives.
void Attribution::narrow(Group& winner, const Shares& rival, double inverse_margin) {
#pragma GCC ivdep
  for (size_t i = 0; i < kGroupSlots; ++i) {
    const auto inverse_range = static_cast<float>((rival[i] - winner.ps[i]) * inverse_margin);
    winner.rise[i] = std::max(winner.rise[i], inverse_range);
    winner.fall[i] = std::min(winner.fall[i], inverse_range);
  }
}

void Attribution::free(Attribution* attribution) {
  release(attribution->step_);
  give_back(attribution->groups_ == 1 ? free_small : free_large, attribution);
}

void Attribution::set_step(const PathStep* step) {
  if (step != nullptr) ++step->references;
  release(std::exchange(step_, step));
}

void SimTime::make_own() {
  Attribution* made;
  if (is_shared()) {
    made = attribution()->copy();
    release();
  } else {
    const uint16_t slot = Attribution::find_slot(parameter());
    made = Attribution::make_zero();
    made->add_to(slot, static_cast<double>(ps_));
  }
  origin_ = reinterpret_cast<uintptr_t>(made);
}

// Adds the derivatives of another time, before its number is added.
void SimTime::add(const SimTime& other, double sign) {
  if (ps_ == 0 && !is_shared() && sign > 0) {
    origin_ = other.origin_;
    if (is_shared()) ++attribution()->references_;
    return;
  }
  if (!other.is_shared()) {
    const uint16_t slot = Attribution::find_slot(other.parameter());
    own().add_to(slot, sign * static_cast<double>(other.ps_));
    return;
  }
  Attribution& mine = own();
  const Attribution& added = *other.attribution();  // after own(): the two may be one time
  for (size_t number = 0; number < added.groups_; ++number) {
    const Attribution::Group& from = added.group(number);
    Attribution::Group& to = mine.group(number);
#pragma GCC ivdep  // they are one, or apart
    for (size_t i = 0; i < Attribution::kGroupSlots; ++i) {
      to.ps[i] += sign * from.ps[i];
      to.rise[i] = std::max(to.rise[i], from.rise[i]);
      to.fall[i] = std::min(to.fall[i], from.fall[i]);
    }
  }
  if (mine.step_ == nullptr) {
    mine.set_step(added.step_);
    mine.until_ps_ = added.until_ps_;
    mine.has_departed_ = added.has_departed_;
  }
}

// A quotient is rounded: its derivatives are scaled so that their sum remains the time.
void SimTime::scale_to(int64_t ps, double factor) {
  if (is_shared()) {
    if (ps_ != 0) factor = static_cast<double>(ps) / static_cast<double>(ps_);
    Attribution& mine = own();
    for (size_t i = 0; i < mine.groups_; ++i) {
      for (double& share : mine.group(i).ps) share *= factor;
    }
  }
  ps_ = ps;
}

// This time won a maximum against `rival`. A parameter that becomes 1 + x times as large adds x
// times its derivative to either; they are equal at x = margin / (rival's derivative - own one).
void SimTime::add_rival(const SimTime& rival) {
  if (!is_shared() || rival.ps_ < ps_ / kFarEarlier) return;
  const uint16_t only = rival.is_shared() ? kNoSlot : Attribution::find_slot(rival.parameter());
  Attribution& mine = own();
  const double margin =
      static_cast<double>(ps_ - rival.ps_) + kNegligible * static_cast<double>(ps_) + 1;
  const double inverse = 1 / margin;
  const size_t known = rival.is_shared() ? rival.attribution()->groups_ : 0;
  for (size_t i = 0; i < mine.groups_; ++i) {
    if (i < known) {
      Attribution::narrow(mine.group(i), rival.attribution()->group(i).ps, inverse);
      continue;
    }
    Attribution::Shares shares{};
    if (only / Attribution::kGroupSlots == i) {
      shares[only % Attribution::kGroupSlots] = static_cast<double>(rival.ps_);
    }
    Attribution::narrow(mine.group(i), shares, inverse);
  }
}

bool SimTime::precedes_equal(const SimTime& other) const {
  if (!is_shared() || !other.is_shared()) {
    return is_shared() != other.is_shared() ? other.is_shared() : origin_ < other.origin_;
  }
  const Attribution& mine = *attribution();
  const Attribution& others = *other.attribution();
  if (!mine.agrees_with(others)) {
    // In the order of the parameters: slots are in an order of events.
    for (size_t number = 0; number < known_names().size(); ++number) {
      const Parameter parameter(static_cast<uint8_t>(number));
      const double my_share = mine.share_of(parameter).ps;
      const double their_share = others.share_of(parameter).ps;
      if (my_share != their_share) return my_share < their_share;
    }
  }
  return is_before(mine.step_, others.step_);
}

void SimTime::add_step(const PathPlace& place) {
  const PathStep* const last = is_shared() ? attribution()->step_ : nullptr;
  const int64_t since = ps_ - (last == nullptr ? 0 : last->until_ps);
  const uint32_t depth = last == nullptr ? 0 : last->depth + 1;
  const bool is_kept = since > 0 && (depth < kept_steps || since >= ps_ / (kept_steps / 4));
  if (!is_kept) {
    if (is_shared() && attribution()->has_departed_) own().has_departed_ = false;
    return;
  }
  Attribution& mine = own();
  mine.has_departed_ = false;
  auto* step = new PathStep;
  step->previous = last;  // takes the reference of this path
  step->until_ps = ps_;
  step->caller = place.caller;
  step->references = 1;
  step->rank = place.rank;
  step->depth = depth;
  step->call = place.call;
  step->kind = place.kind;
  mine.step_ = step;
  mine.until_ps_ = ps_;
}

void SimTime::depart(const PathPlace& place) {
  arrive({place.rank, PathKind::kMessage, place.call, place.caller});
  pass(place);
  own().has_departed_ = true;
}

}  // namespace sesame

#endif
