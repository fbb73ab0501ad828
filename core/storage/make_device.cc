#include "core/storage/make_device.h"

#include <random>
#include <vector>

#include "core/base/check.h"
#include "core/storage/array.h"
#include "core/storage/queued_device.h"
#include "core/storage/rate_limit.h"
#include "core/storage/service_models.h"

namespace sesame::storage {

std::unique_ptr<ServiceModel> make_service_model(const machine::DeviceParameters& parameters,
                                                 uint64_t seed) {
  switch (parameters.kind) {
    case machine::DeviceKind::kFixed:
      return make_fixed(parameters);
    case machine::DeviceKind::kDisk:
      return make_simple_disk(parameters, seed);
    case machine::DeviceKind::kHp97560:
      return make_hp97560(seed);
    case machine::DeviceKind::kSolidState:
      return make_solid_state(parameters);
  }
  CHECK(false);
}

namespace {

std::unique_ptr<Device> make_unlimited(const machine::DeviceParameters& parameters,
                                       pdes::EventQueue& events, uint64_t seed) {
  const auto queued = [&](std::unique_ptr<ServiceModel> model) {
    return make_queued_device(std::move(model), parameters.queue, events);
  };
  if (parameters.raid == machine::RaidLevel::kNone)
    return queued(make_service_model(parameters, seed));
  if (parameters.raid == machine::RaidLevel::k3)
    return queued(make_in_step(parameters.members, make_service_model(parameters, seed)));
  std::vector<std::unique_ptr<Device>> members;
  std::mt19937_64 seeds(seed);
  for (int i = 0; i < parameters.members; ++i)
    members.push_back(queued(make_service_model(parameters, seeds())));
  return make_array(parameters, std::move(members));
}

}  // namespace

std::unique_ptr<Device> make_device(const machine::DeviceParameters& parameters,
                                    pdes::EventQueue& events, uint64_t seed) {
  auto device = make_unlimited(parameters, events, seed);
  if (parameters.read_limit == 0 && parameters.write_limit == 0) return device;
  return make_limited(parameters, std::move(device), events);
}

}  // namespace sesame::storage
