#include "core/storage/array.h"

#include <algorithm>

#include "core/base/pool.h"

namespace sesame::storage {
namespace {

using machine::RaidLevel;

// Which member has which unit. The parity of stripe s is on member n - 1 - s mod n, and its data
// start on the member after that: n consecutive units of data are on n different members (Lee and
// Katz, "The performance of parity placements in disk arrays", IEEE Trans. Computers 42(6), 1993:
// the left-symmetric placement; from memory of the article).
class RaidLayout {
 public:
  RaidLayout(RaidLevel level, uint64_t members, uint64_t unit)
      : members_(members), data_(level == RaidLevel::k5 ? members - 1 : members), unit_(unit) {}

  uint64_t unit() const { return unit_; }
  uint64_t stripe_bytes() const { return data_ * unit_; }
  bool has_parity() const { return data_ != members_; }
  size_t parity_member(uint64_t stripe) const { return members_ - 1 - stripe % members_; }
  size_t member_of(uint64_t unit) const {
    const uint64_t stripe = unit / data_, place = unit % data_;
    return has_parity() ? (parity_member(stripe) + 1 + place) % members_ : place;
  }
  uint64_t address_in_member(uint64_t unit) const { return unit / data_ * unit_; }

 private:
  uint64_t members_;
  uint64_t data_;  // members that hold data in a stripe
  uint64_t unit_;
};

class Array : public Device {
 public:
  Array(const machine::DeviceParameters& parameters, std::vector<std::unique_ptr<Device>> members)
      : layout_(parameters.raid, members.size(), parameters.raid_unit),
        members_(std::move(members)),
        pending_(members_.size()) {}

  void submit(SimTime now, const DeviceRequest& request) override {
    count(now, request);
    auto* array_request = new ArrayRequest;
    array_request->array = this;
    array_request->request = request;
    array_request->request.bytes =
        std::max<uint64_t>(request.bytes, 1);  // an empty request needs a completion, too
    if (request.direction == Direction::kWrite && layout_.has_parity()) {
      read_for_parity(now, *array_request);
      if (array_request->operations == 0) write_with_parity(now, *array_request);
    } else {
      move_data(now, *array_request);
    }
  }

  const DeviceStatistics& statistics() const override {
    shown_ = totals_;
    for (const auto& member : members_) {
      const DeviceStatistics& one = member->statistics();
      shown_.operations += one.operations;
      shown_.seek_time += one.seek_time;
      shown_.rotation_time += one.rotation_time;
      shown_.transfer_time += one.transfer_time;
      shown_.queued += one.queued;
      shown_.longest_queue = std::max(shown_.longest_queue, one.longest_queue);
    }
    return shown_;
  }

 private:
  // A request in service. It completes with its operations on members, which are one round or two
  // (read, then write).
  struct ArrayRequest final : Completion, Pooled<ArrayRequest> {
    void done(SimTime at) override {
      if (--operations == 0) array->round_done(at, *this);
    }
    Array* array = nullptr;
    DeviceRequest request;
    uint64_t operations = 0;
    bool has_read = false;
  };

  // An operation not submitted yet: adjacent units of a member are joined to one operation.
  struct PendingOperation {
    uint64_t address = 0;
    uint64_t bytes = 0;
  };

  void count(SimTime now, const DeviceRequest& request) {
    const bool reads = request.direction == Direction::kRead;
    ++(reads ? totals_.reads : totals_.writes);
    (reads ? totals_.bytes_read : totals_.bytes_written) += request.bytes;
    if (request.address != end_of_last_) ++totals_.seeks;
    end_of_last_ = request.address + request.bytes;
    if (active_++ == 0) busy_since_ = now;
  }

  void round_done(SimTime at, ArrayRequest& array_request) {
    if (array_request.has_read) {
      array_request.has_read = false;
      write_with_parity(at, array_request);
      return;
    }
    Completion* const completion = array_request.request.completion;
    delete &array_request;
    if (--active_ == 0) totals_.busy += at - busy_since_;
    completion->done(at);
  }

  // Reads old data and parity of the stripes that are written only in part.
  void read_for_parity(SimTime now, ArrayRequest& array_request) {
    const Direction direction = array_request.request.direction;
    array_request.request.direction = Direction::kRead;
    for_each_stripe(array_request.request, [&](uint64_t stripe, uint64_t begin, uint64_t end) {
      if (end - begin == layout_.stripe_bytes()) return;
      add_data(now, array_request, begin, end);
      add_parity(now, array_request, stripe, begin, end);
    });
    submit_all_pending(now, array_request);
    array_request.request.direction = direction;
    array_request.has_read = array_request.operations != 0;
  }

  void write_with_parity(SimTime now, ArrayRequest& array_request) {
    for_each_stripe(array_request.request, [&](uint64_t stripe, uint64_t begin, uint64_t end) {
      add_data(now, array_request, begin, end);
      add_parity(now, array_request, stripe, begin, end);
    });
    submit_all_pending(now, array_request);
  }

  void move_data(SimTime now, ArrayRequest& array_request) {
    add_data(now, array_request, array_request.request.address,
             array_request.request.address + array_request.request.bytes);
    submit_all_pending(now, array_request);
  }

  template <typename Visit>
  void for_each_stripe(const DeviceRequest& request, Visit visit) const {
    const uint64_t bytes = layout_.stripe_bytes();
    const uint64_t end = request.address + request.bytes;
    for (uint64_t begin = request.address; begin < end;) {
      const uint64_t stripe = begin / bytes;
      const uint64_t next = std::min(end, (stripe + 1) * bytes);
      visit(stripe, begin, next);
      begin = next;
    }
  }

  void add_data(SimTime now, ArrayRequest& array_request, uint64_t begin, uint64_t end) {
    while (begin < end) {
      const uint64_t unit = begin / layout_.unit();
      const uint64_t next = std::min(end, (unit + 1) * layout_.unit());
      add(now, array_request, layout_.member_of(unit),
          layout_.address_in_member(unit) + begin % layout_.unit(), next - begin);
      begin = next;
    }
  }

  // The range of the stripe's parity that depends on the data from `begin` to `end`.
  void add_parity(SimTime now, ArrayRequest& array_request, uint64_t stripe, uint64_t begin,
                  uint64_t end) {
    const uint64_t unit = layout_.unit();
    const bool in_one_unit = begin / unit == (end - 1) / unit;
    const uint64_t first = in_one_unit ? begin % unit : 0;
    const uint64_t bytes = in_one_unit ? end - begin : unit;
    add(now, array_request, layout_.parity_member(stripe), stripe * unit + first, bytes);
  }

  void add(SimTime now, ArrayRequest& array_request, size_t member, uint64_t address,
           uint64_t bytes) {
    PendingOperation& pending = pending_[member];
    if (pending.bytes != 0 && pending.address + pending.bytes != address)
      submit_pending(now, array_request, member);
    if (pending.bytes == 0) pending.address = address;
    pending.bytes += bytes;
  }

  void submit_pending(SimTime now, ArrayRequest& array_request, size_t member) {
    PendingOperation& pending = pending_[member];
    if (pending.bytes == 0) return;
    ++array_request.operations;
    members_[member]->submit(
        now, {array_request.request.direction, pending.address, pending.bytes, &array_request});
    pending.bytes = 0;
  }
  void submit_all_pending(SimTime now, ArrayRequest& array_request) {
    for (size_t member = 0; member < members_.size(); ++member)
      submit_pending(now, array_request, member);
  }

  RaidLayout layout_;
  std::vector<std::unique_ptr<Device>> members_;
  std::vector<PendingOperation> pending_;  // by member
  DeviceStatistics totals_;
  mutable DeviceStatistics shown_;
  SimTime busy_since_;
  uint64_t active_ = 0;
  uint64_t end_of_last_ = 0;
};

class InStep : public ServiceModel {
 public:
  InStep(int members, std::unique_ptr<ServiceModel> one)
      : members_(static_cast<uint64_t>(members)), one_(std::move(one)) {}

  // Each member has an equal share of every range; the last member has the parity.
  SimTime serve(SimTime start, const DeviceRequest& request, DeviceStatistics& totals) override {
    const uint64_t data = members_ - 1;
    const bool reads = request.direction == Direction::kRead;
    totals.operations += (reads ? data : members_) - 1;
    const uint64_t begin = request.address / data;
    const uint64_t end = (request.address + request.bytes + data - 1) / data;
    return one_->serve(start, {request.direction, begin, end - begin, nullptr}, totals);
  }
  uint64_t position_of(uint64_t address) const override {
    return one_->position_of(address / (members_ - 1));
  }
  uint64_t head_position() const override { return one_->head_position(); }
  int concurrency() const override { return one_->concurrency(); }

 private:
  uint64_t members_;
  std::unique_ptr<ServiceModel> one_;
};

}  // namespace

std::unique_ptr<Device> make_array(const machine::DeviceParameters& parameters,
                                   std::vector<std::unique_ptr<Device>> members) {
  return std::make_unique<Array>(parameters, std::move(members));
}

std::unique_ptr<ServiceModel> make_in_step(int members, std::unique_ptr<ServiceModel> one) {
  return std::make_unique<InStep>(members, std::move(one));
}

}  // namespace sesame::storage
