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
  return slot < slots_ ? shares()[slot] : Share{};
}

Attribution* Attribution::make() {
  const bool is_small = used_slots <= kFewSlots;
  const size_t bytes = sizeof(Attribution) + (is_small ? kFewSlots : most_slots) * sizeof(Share);
  auto* made = new (take(is_small ? free_small : free_large, bytes)) Attribution;
  made->is_small_ = is_small;
  return made;
}

Attribution* Attribution::copy() const {
  Attribution* made = make();
  made->slots_ = slots_;
  made->has_departed_ = has_departed_;
  if (is_small_ && made->is_small_) {  // of a fixed size: faster
    std::copy_n(shares(), kFewSlots, made->shares());
  } else {
    std::copy_n(shares(), slots_, made->shares());
  }
  made->set_step(step_);
  made->until_ps_ = until_ps_;
  return made;
}

Attribution::Share* Attribution::all_shares() {
  while (slots_ < used_slots) shares()[slots_++] = {};
  return shares();
}

void Attribution::free(Attribution* attribution) {
  release(attribution->step_);
  give_back(attribution->is_small_ ? free_small : free_large, attribution);
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
    made = Attribution::make();
    made->all_shares()[slot].ps = static_cast<double>(ps_);
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
    own().all_shares()[slot].ps += sign * static_cast<double>(other.ps_);
    return;
  }
  Attribution& mine = own();
  const Attribution& added = *other.attribution();  // after own(): the two may be one time
  Attribution::Share* const shares = mine.all_shares();
  for (size_t i = 0; i < added.slots_; ++i) {
    const Attribution::Share& share = added.shares()[i];
    shares[i].ps += sign * share.ps;
    shares[i].rise = std::max(shares[i].rise, share.rise);
    shares[i].fall = std::min(shares[i].fall, share.fall);
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
    for (size_t i = 0; i < mine.slots_; ++i) mine.shares()[i].ps *= factor;
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
  Attribution::Share* const shares = mine.all_shares();
  const Attribution::Share* const others =
      rival.is_shared() ? rival.attribution()->shares() : nullptr;
  const size_t known = rival.is_shared() ? rival.attribution()->slots_ : 0;
  for (size_t i = 0; i < mine.slots_; ++i) {
    double share = i < known ? others[i].ps : 0;
    if (i == only) share = static_cast<double>(rival.ps_);
    const auto inverse_range = static_cast<float>((share - shares[i].ps) * inverse);
    shares[i].rise = std::max(shares[i].rise, inverse_range);
    shares[i].fall = std::min(shares[i].fall, inverse_range);
  }
}

bool SimTime::precedes_equal(const SimTime& other) const {
  if (!is_shared() || !other.is_shared()) {
    return is_shared() != other.is_shared() ? other.is_shared() : origin_ < other.origin_;
  }
  // In the order of the parameters: slots are in an order of events.
  for (size_t number = 0; number < known_names().size(); ++number) {
    const Parameter parameter(static_cast<uint8_t>(number));
    const double mine = attribution()->share_of(parameter).ps;
    const double others = other.attribution()->share_of(parameter).ps;
    if (mine != others) return mine < others;
  }
  return is_before(attribution()->step_, other.attribution()->step_);
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
