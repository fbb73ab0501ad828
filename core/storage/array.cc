#include "core/storage/array.h"

#include <algorithm>

#include "core/base/pool.h"

namespace sesame::storage {
namespace {

using machine::RaidLevel;

// Which member has which unit. Parity of stripe s is on member n - 1 - s mod n, its data begin on
// the member after it: n consecutive units of data are on n different members (Lee and Katz, "The
// performance of parity placements in disk arrays", IEEE Trans. Computers 42(6), 1993: the
// left-symmetric placement; from memory of the article).
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
        open_(members_.size()) {}

  void submit(SimTime now, const DeviceRequest& request) override {
    count(now, request);
    auto* work = new Work;
    work->array = this;
    work->request = request;
    work->request.bytes = std::max<uint64_t>(request.bytes, 1);  // of nothing there would be no end
    if (request.direction == Direction::kWrite && layout_.has_parity()) {
      read_for_parity(now, *work);
      if (work->operations == 0) write_with_parity(now, *work);
    } else {
      move_data(now, *work);
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
  // A request in work: done when its operations on members are, in one or two rounds.
  struct Work final : Completion, Pooled<Work> {
    void done(SimTime at) override {
      if (--operations == 0) array->round_done(at, *this);
    }
    Array* array = nullptr;
    DeviceRequest request;
    uint64_t operations = 0;
    bool has_read = false;
  };

  // An operation that may still grow: neighbouring units of a member are one operation.
  struct Open {
    uint64_t address = 0;
    uint64_t bytes = 0;
  };

  void count(SimTime now, const DeviceRequest& request) {
    const bool reads = request.direction == Direction::kRead;
    ++(reads ? totals_.reads : totals_.writes);
    (reads ? totals_.bytes_read : totals_.bytes_written) += request.bytes;
    if (request.address != end_of_last_) ++totals_.seeks;
    end_of_last_ = request.address + request.bytes;
    if (in_work_++ == 0) busy_since_ = now;
  }

  void round_done(SimTime at, Work& work) {
    if (work.has_read) {
      work.has_read = false;
      write_with_parity(at, work);
      return;
    }
    Completion* const completion = work.request.completion;
    delete &work;
    if (--in_work_ == 0) totals_.busy += at - busy_since_;
    completion->done(at);
  }

  // Old data and old parity of the stripes that are written in part.
  void read_for_parity(SimTime now, Work& work) {
    const Direction direction = work.request.direction;
    work.request.direction = Direction::kRead;
    for_each_stripe(work.request, [&](uint64_t stripe, uint64_t begin, uint64_t end) {
      if (end - begin == layout_.stripe_bytes()) return;
      add_data(now, work, begin, end);
      add_parity(now, work, stripe, begin, end);
    });
    close_all(now, work);
    work.request.direction = direction;
    work.has_read = work.operations != 0;
  }

  void write_with_parity(SimTime now, Work& work) {
    for_each_stripe(work.request, [&](uint64_t stripe, uint64_t begin, uint64_t end) {
      add_data(now, work, begin, end);
      add_parity(now, work, stripe, begin, end);
    });
    close_all(now, work);
  }

  void move_data(SimTime now, Work& work) {
    add_data(now, work, work.request.address, work.request.address + work.request.bytes);
    close_all(now, work);
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

  void add_data(SimTime now, Work& work, uint64_t begin, uint64_t end) {
    while (begin < end) {
      const uint64_t unit = begin / layout_.unit();
      const uint64_t next = std::min(end, (unit + 1) * layout_.unit());
      add(now, work, layout_.member_of(unit),
          layout_.address_in_member(unit) + begin % layout_.unit(), next - begin);
      begin = next;
    }
  }

  // The part of the stripe's parity that the data from `begin` to `end` has a share in.
  void add_parity(SimTime now, Work& work, uint64_t stripe, uint64_t begin, uint64_t end) {
    const uint64_t unit = layout_.unit();
    const bool in_one_unit = begin / unit == (end - 1) / unit;
    const uint64_t first = in_one_unit ? begin % unit : 0;
    const uint64_t bytes = in_one_unit ? end - begin : unit;
    add(now, work, layout_.parity_member(stripe), stripe * unit + first, bytes);
  }

  void add(SimTime now, Work& work, size_t member, uint64_t address, uint64_t bytes) {
    Open& open = open_[member];
    if (open.bytes != 0 && open.address + open.bytes != address) close(now, work, member);
    if (open.bytes == 0) open.address = address;
    open.bytes += bytes;
  }

  void close(SimTime now, Work& work, size_t member) {
    Open& open = open_[member];
    if (open.bytes == 0) return;
    ++work.operations;
    members_[member]->submit(now, {work.request.direction, open.address, open.bytes, &work});
    open.bytes = 0;
  }
  void close_all(SimTime now, Work& work) {
    for (size_t member = 0; member < members_.size(); ++member) close(now, work, member);
  }

  RaidLayout layout_;
  std::vector<std::unique_ptr<Device>> members_;
  std::vector<Open> open_;  // by member
  DeviceStatistics totals_;
  mutable DeviceStatistics shown_;
  SimTime busy_since_;
  uint64_t in_work_ = 0;
  uint64_t end_of_last_ = 0;
};

class InStep : public ServiceModel {
 public:
  InStep(int members, std::unique_ptr<ServiceModel> one)
      : members_(static_cast<uint64_t>(members)), one_(std::move(one)) {}

  // Every member has an equal share of each byte range; the last one has the parity.
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
