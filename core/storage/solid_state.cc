// A solid-state device: pages are distributed round robin over channels, then over the dies of a
// channel. Dies read and program in parallel; a channel moves one page at a time; the interface
// moves all bytes one after the other.
#include <algorithm>
#include <vector>

#include "core/storage/service_models.h"

namespace sesame::storage {
namespace {

class SolidState : public ServiceModel {
 public:
  explicit SolidState(const machine::DeviceParameters& parameters)
      : parameters_(parameters),
        program_(parameters.page_program +
                 parameters.block_erase / static_cast<int64_t>(parameters.pages_per_block)),
        channel_(ps_per_byte(parameters.channel_bandwidth)),
        interface_(ps_per_byte(parameters.interface_bandwidth)),
        channel_free_(static_cast<size_t>(parameters.channels)),
        die_free_(channel_free_.size() * static_cast<size_t>(parameters.dies)) {}

  SimTime serve(SimTime start, const DeviceRequest& request, DeviceStatistics& totals) override {
    const SimTime begin = start + parameters_.controller_overhead;
    const bool reads = request.direction == Direction::kRead;
    const uint64_t end_address = request.address + request.bytes;
    SimTime end = begin;
    for (uint64_t address = request.address; address < end_address;) {
      const uint64_t page = address / parameters_.page;
      const uint64_t next = std::min(end_address, (page + 1) * parameters_.page);
      end = later(end, reads ? read_page(begin, page, next - address, totals)
                             : write_page(begin, page, next - address, totals));
      address = next;
    }
    head_ = position_of(end_address);
    return end;
  }

  uint64_t position_of(uint64_t address) const override { return address / parameters_.page; }
  uint64_t head_position() const override { return head_; }
  int concurrency() const override { return parameters_.queue_depth; }

 private:
  SimTime& channel_free(uint64_t page) { return channel_free_[page % channel_free_.size()]; }
  SimTime& die_free(uint64_t page) { return die_free_[page % die_free_.size()]; }

  // The die is busy until the channel has moved the page.
  SimTime read_page(SimTime begin, uint64_t page, uint64_t bytes, DeviceStatistics& totals) {
    SimTime& channel = channel_free(page);
    SimTime& die = die_free(page);
    const SimTime in_register = later(begin, die) + parameters_.page_read;
    const SimTime moved = transfer_time(bytes, channel_).due_to(parameters_.channel_key);
    die = channel = later(in_register, channel) + moved;
    totals.transfer_time += moved;
    return interface_free_ = later(channel, interface_free_) +
                             transfer_time(bytes, interface_).due_to(parameters_.interface_key);
  }

  // A page that is written in part is read first.
  SimTime write_page(SimTime begin, uint64_t page, uint64_t bytes, DeviceStatistics& totals) {
    SimTime& channel = channel_free(page);
    SimTime& die = die_free(page);
    interface_free_ = later(begin, interface_free_) +
                      transfer_time(bytes, interface_).due_to(parameters_.interface_key);
    SimTime register_free = later(begin, die);
    if (bytes < parameters_.page) register_free += parameters_.page_read;
    const SimTime moved = transfer_time(bytes, channel_).due_to(parameters_.channel_key);
    channel = later(later(interface_free_, channel), register_free) + moved;
    totals.transfer_time += moved;
    return die = channel + program_;
  }

  machine::DeviceParameters parameters_;
  SimTime program_;  // of a page, with its share of a block erase
  double channel_;
  double interface_;
  std::vector<SimTime> channel_free_;
  std::vector<SimTime> die_free_;  // die d of channel c at d * channels + c
  SimTime interface_free_;
  uint64_t head_ = 0;
};

}  // namespace

std::unique_ptr<ServiceModel> make_solid_state(const machine::DeviceParameters& parameters) {
  return std::make_unique<SolidState>(parameters);
}

}  // namespace sesame::storage
