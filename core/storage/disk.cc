#include "core/storage/disk.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/base/check.h"
#include "core/storage/service_models.h"

namespace sesame::storage {

SimTime SeekCurve::time(uint64_t distance) const {
  if (distance == 0) return {};
  const double d = static_cast<double>(distance);
  const double from_origin = d - static_cast<double>(origin);
  const double ps = distance <= near
                        ? constant + root * std::sqrt(from_origin) + linear * from_origin
                        : far_constant + far_linear * d;
  return SimTime::from_ps(std::llround(std::max(ps, constant)));
}

namespace {

// Sectors that pass under the head without a break: sector `from` starts at time `at`; `end` is not
// included.
struct SectorRun {
  uint64_t from = 0;
  uint64_t end = 0;
  SimTime at;
};

class MechanicalDisk : public ServiceModel {
 public:
  MechanicalDisk(const DiskConstants& constants, uint64_t seed)
      : constants_(constants),
        geometry_(constants.geometry),
        rotation_(constants.sector_time * static_cast<int64_t>(geometry_.sectors_per_track)),
        track_length_(rotation_ + constants.track_skew),
        cylinder_length_(track_length_ * static_cast<int64_t>(geometry_.heads) -
                         constants.track_skew + constants.cylinder_skew),
        bus_(ps_per_byte(constants.bus_bandwidth)),
        buffer_(constants.buffer / geometry_.sector_bytes),
        phase_(SimTime::from_ps(static_cast<int64_t>(std::mt19937_64(seed)() %
                                                     static_cast<uint64_t>(rotation_.ps())))) {}

  SimTime serve(SimTime start, const DeviceRequest& request, DeviceStatistics& totals) override {
    const Span span = span_of(request);
    const bool reads = request.direction == Direction::kRead;
    head_ = cylinder_of(span.end - 1);
    return reads ? read(start + constants_.read_overhead, span, request.bytes, totals)
                 : write(start + constants_.write_overhead, span, request.bytes, totals);
  }

  uint64_t position_of(uint64_t address) const override {
    return cylinder_of(address / geometry_.sector_bytes % geometry_.sectors());
  }
  uint64_t head_position() const override { return head_; }

 private:
  // Whole sectors; the end is not included.
  struct Span {
    uint64_t begin;
    uint64_t end;
  };

  // Addresses beyond the end of the medium wrap around.
  Span span_of(const DeviceRequest& request) const {
    const uint64_t first = request.address / geometry_.sector_bytes;
    const uint64_t last =
        (request.address + std::max<uint64_t>(request.bytes, 1) - 1) / geometry_.sector_bytes;
    const uint64_t begin = first % geometry_.sectors();
    return {begin, begin + (last - first) + 1};
  }

  uint64_t cylinder_of(uint64_t sector) const { return sector / geometry_.sectors_per_cylinder(); }
  uint64_t track_of(uint64_t sector) const { return sector / geometry_.sectors_per_track; }

  // The position of a sector, as time, along the whole spiral of tracks and skews. The difference
  // of two is the time between them when the head reads without a break; one modulo a rotation is
  // an angle.
  SimTime spiral_offset(uint64_t sector) const {
    const uint64_t cylinder = cylinder_of(sector);
    const uint64_t in_cylinder = sector % geometry_.sectors_per_cylinder();
    const uint64_t track = in_cylinder / geometry_.sectors_per_track;
    return cylinder_length_ * static_cast<int64_t>(cylinder) +
           constants_.track_skew * static_cast<int64_t>(track) +
           constants_.sector_time * static_cast<int64_t>(in_cylinder);
  }

  // The number of whole sectors before this offset: the inverse of spiral_offset().
  uint64_t sector_at(SimTime offset) const {
    const int64_t cylinder = offset.ps() / cylinder_length_.ps();
    int64_t rest = offset.ps() % cylinder_length_.ps();
    const int64_t last_track = static_cast<int64_t>(geometry_.heads) - 1;
    const int64_t track = std::min(rest / track_length_.ps(), last_track);
    rest -= track * track_length_.ps();
    const int64_t per_track = static_cast<int64_t>(geometry_.sectors_per_track);
    const int64_t sector = std::min(rest / constants_.sector_time.ps(), per_track);
    return static_cast<uint64_t>(cylinder) * geometry_.sectors_per_cylinder() +
           static_cast<uint64_t>(track * per_track + sector);
  }

  // When the run reaches the sector, and when all sectors before `end` have passed.
  SimTime begin_of(uint64_t sector) const {
    return run_.at + (spiral_offset(sector) - spiral_offset(run_.from));
  }
  SimTime end_of(uint64_t end) const {
    return end <= run_.from ? run_.at : begin_of(end - 1) + constants_.sector_time;
  }
  uint64_t passed(SimTime now) const {
    if (now <= run_.at) return run_.from;
    return std::min(sector_at(spiral_offset(run_.from) + (now - run_.at)), run_.end);
  }

  // The remainder of a division by the rotation, as a difference of times: its derivatives are
  // those of the time at which the sector is under the head, less those of now.
  SimTime until_under_head(SimTime now, uint64_t sector) const {
    const SimTime off = spiral_offset(sector) + phase_ - now;
    int64_t turns = off.ps() / rotation_.ps();
    if (off.ps() % rotation_.ps() < 0) --turns;
    return off - rotation_ * turns;
  }

  // Moves the arm to the sector's cylinder and waits until the sector is under the head.
  struct Move {
    SimTime seek;
    SimTime rotation;
    SimTime both() const { return seek + rotation; }
  };
  Move move_to(SimTime now, uint64_t sector) {
    const uint64_t last = std::max<uint64_t>(passed(now), 1) - 1;
    const uint64_t a = cylinder_of(last), b = cylinder_of(sector);
    SimTime seek = constants_.seek.time(a < b ? b - a : a - b);
    if (track_of(last) != track_of(sector)) seek = later(seek, constants_.head_switch);
    const SimTime wait = until_under_head(now + seek, sector);
    // The later one, always: the range of slopes ends where the head would miss the sector and wait
    // for another turn.
    run_ = {sector, sector, later(now + seek + wait, now + seek)};
    return {seek, wait};
  }

  SimTime read(SimTime now, Span span, uint64_t bytes, DeviceStatistics& totals) {
    if (writing_) {
      now = later(now, end_of(run_.end));
      writing_ = false;
      kept_from_ = UINT64_MAX;
    }
    Move waited;
    const uint64_t reached = passed(now);
    const uint64_t oldest = std::max(kept_from_, reached - std::min(reached, buffer_));
    const uint64_t ahead = std::max(span.end, std::min(span.end + buffer_, geometry_.sectors()));
    if (oldest <= span.begin && span.begin <= reached) {
      // The head continues to read, unless the buffer was full: then it has stopped and must
      // return.
      const uint64_t end_before = run_.end;
      if (reached == end_before && ahead > end_before) {
        const Move move = move_to(now, end_before);
        if (span.end > end_before) waited = move;
      }
      run_.end = std::max(end_before, ahead);
    } else {
      waited = move_to(now, span.begin);
      kept_from_ = span.begin;
      run_.end = ahead;
    }
    const SimTime end = transfer_over_bus(now, span, bytes);
    totals.seek_time += waited.seek;
    totals.rotation_time += plain(waited.rotation);
    totals.transfer_time += elapsed(now, end) - plain(waited.both());
    return end;
  }

  // The transfer over the bus starts when the buffer holds as many bytes as the read fence, and is
  // no faster than the medium.
  SimTime transfer_over_bus(SimTime now, Span span, uint64_t bytes) const {
    const auto in_buffer = [&](uint64_t end) {
      return end <= run_.from ? now : later(now, end_of(end));
    };
    const uint64_t fence = std::max<uint64_t>(constants_.read_fence / geometry_.sector_bytes, 1);
    const SimTime first = in_buffer(std::min(span.end, span.begin + fence));
    const SimTime last = in_buffer(span.end);
    return later(first + transfer_time(bytes, bus_),
                 last + transfer_time(std::min(bytes, geometry_.sector_bytes), bus_));
  }

  // While a write moves from the buffer to the medium, only a write that continues where it ends is
  // accepted.
  SimTime write(SimTime now, Span span, uint64_t bytes, DeviceStatistics& totals) {
    const bool continues = writing_ && span.begin == run_.end && now <= begin_of(run_.end);
    if (!continues) {
      if (writing_) now = later(now, end_of(run_.end));
      const Move move = move_to(now, span.begin);
      totals.seek_time += move.seek;
      totals.rotation_time += plain(move.rotation);
    }
    writing_ = true;
    run_.end = span.end;
    totals.transfer_time += elapsed(begin_of(span.begin), end_of(span.end));
    if (!constants_.immediate_report) return end_of(span.end);
    const SimTime in_buffer = now + transfer_time(bytes, bus_);
    const uint64_t must_be_written = span.end - std::min(span.end, buffer_);
    return must_be_written <= run_.from ? in_buffer : later(in_buffer, end_of(must_be_written));
  }

  DiskConstants constants_;
  DiskGeometry geometry_;
  SimTime rotation_;
  SimTime track_length_;     // with the skew after it
  SimTime cylinder_length_;  // likewise
  double bus_;
  uint64_t buffer_;  // sectors
  SimTime phase_;

  SectorRun run_;  // what the head reads or writes, or did last
  bool writing_ = false;
  uint64_t kept_from_ = UINT64_MAX;  // the buffer holds what was read from this sector on
  uint64_t head_ = 0;                // cylinder
};

}  // namespace

std::unique_ptr<ServiceModel> make_mechanical_disk(const DiskConstants& constants, uint64_t seed) {
  const DiskGeometry& geometry = constants.geometry;
  CHECK(geometry.sector_bytes > 0 && geometry.sectors() > 0);
  CHECK(constants.sector_time > SimTime::zero());
  return std::make_unique<MechanicalDisk>(constants, seed);
}

}  // namespace sesame::storage
