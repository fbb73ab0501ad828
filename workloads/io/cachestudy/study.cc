#include "io/cachestudy/study.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "kit/byte_sizes.h"

namespace sesame::workload {
namespace {

constexpr double kVisible = 1.5;      // a smaller fall of the rate is ignored
constexpr double kReadsAhead = 0.25;  // share of transfers
constexpr long kLeastTransfer = 4096;
constexpr long kMostTransfer = 4L << 20;

long whole_stamps(double bytes) {
  return std::max(1L, std::lround(bytes / kStampBytes)) * kStampBytes;
}

Point measure_file(Sampler& sampler, Mode mode, long bytes, long transfer) {
  sampler.make_file(bytes);
  return {bytes, sampler.measure(mode, transfer)};
}

void insert(std::vector<Point>& points, const Point& point) {
  const auto place = std::upper_bound(
      points.begin(), points.end(), point,
      [](const Point& left, const Point& right) { return left.bytes < right.bytes; });
  points.insert(place, point);
}

// Measures sizes between which the rate falls most, of files of at least `from` bytes, until they
// are close.
Edge follow(Sampler& sampler, Mode mode, const Plan& plan, std::vector<Point>& points, long from) {
  while (true) {
    std::vector<Point> part;
    std::copy_if(points.begin(), points.end(), std::back_inserter(part),
                 [=](const Point& point) { return point.bytes >= from; });
    const Edge edge = steepest(part);
    const long middle = edge.found() ? whole_stamps(edge.bytes()) : 0;
    const bool close = static_cast<double>(edge.exceeds) <= plan.precision * double(edge.fits);
    if (close || middle <= edge.fits || middle >= edge.exceeds) return edge;
    insert(points, measure_file(sampler, mode, middle, plan.transfer));
  }
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

double share_below(const std::vector<double>& values, double limit) {
  if (values.empty()) return 0;
  const auto count =
      std::count_if(values.begin(), values.end(), [=](double value) { return value <= limit; });
  return static_cast<double>(count) / static_cast<double>(values.size());
}

}  // namespace

double Edge::bytes() const {
  return std::sqrt(static_cast<double>(fits) * static_cast<double>(exceeds));
}

Edge steepest(const std::vector<Point>& points) {
  Edge edge;
  double most = 1;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double ratio = points[i - 1].rate.median / points[i].rate.median;
    if (ratio <= most) continue;
    most = ratio;
    edge = {points[i - 1].bytes, points[i].bytes};
  }
  // Between two close sizes even a large fall shows only in part: compare the rates on both sides.
  double fast = 0, slow = points.back().rate.median;
  for (const Point& point : points) {
    if (point.bytes <= edge.fits) fast = std::max(fast, point.rate.median);
    if (point.bytes >= edge.exceeds) slow = std::min(slow, point.rate.median);
  }
  return fast >= kVisible * slow ? edge : Edge{};
}

std::vector<Point> sweep_files(Sampler& sampler, Mode mode, const Plan& plan) {
  std::vector<Point> points;
  for (long bytes = plan.smallest; bytes < plan.largest; bytes *= 2) {
    points.push_back(measure_file(sampler, mode, bytes, plan.transfer));
  }
  points.push_back(measure_file(sampler, mode, plan.largest, plan.transfer));
  const Edge first = follow(sampler, mode, plan, points, 0);
  if (first.found()) follow(sampler, mode, plan, points, first.exceeds);
  return points;
}

std::vector<Point> sweep_transfers(Sampler& sampler, Mode mode, const Plan& plan) {
  std::vector<Point> points;
  const long most = std::min(kMostTransfer, plan.smallest);
  for (long transfer = kLeastTransfer; transfer <= most; transfer *= 4) {
    points.push_back({transfer, sampler.measure(mode, transfer)});
  }
  return points;
}

bool Prefetch::reads_ahead() const {
  return passes[0].found_cached - passes[2].found_cached > kReadsAhead;
}

Prefetch study_prefetch(Sampler& sampler, long transfer, double memory_s) {
  struct Kind {
    const char* name;
    bool emptied;
    Order order;
  };
  constexpr Kind kinds[] = {{"emptied, in order", true, Order::kSequential},
                            {"again, in order", false, Order::kSequential},
                            {"emptied, scattered", true, Order::kScattered}};
  std::vector<double> rates, times[3];
  for (int i = 0; i < 3; ++i) {
    if (kinds[i].emptied) sampler.flush();
    const double bytes = static_cast<double>(sampler.transfers(transfer, kinds[i].order)) *
                         static_cast<double>(transfer);
    rates.push_back(bytes / sampler.pass(Mode::kRead, transfer, kinds[i].order));
    times[i] = sampler.transfer_times();
  }
  Prefetch result;
  result.memory_s = memory_s > 0 ? memory_s : median(times[1]);
  const double between = std::sqrt(result.memory_s * median(times[2]));
  const double limit = std::max(between, kVisible * result.memory_s);
  for (int i = 0; i < 3; ++i) {
    const std::string name = format_bytes(sampler.file_bytes()) + " " + kinds[i].name;
    result.passes.push_back({name, rates[i], share_below(times[i], limit)});
  }
  return result;
}

WriteBehind study_write_behind(Sampler& sampler, long transfer) {
  sampler.synchronize();
  const double returned = sampler.pass(Mode::kWrite, transfer);
  return {returned, returned + sampler.synchronize()};
}

}  // namespace sesame::workload
