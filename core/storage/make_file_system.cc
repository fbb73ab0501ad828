#include "core/storage/make_file_system.h"

#include "core/storage/analytic.h"
#include "core/storage/full.h"

namespace sesame::storage {

std::unique_ptr<FileSystem> make_file_system(const machine::StorageParameters& parameters,
                                             const network::Network& network,
                                             pdes::EventQueue& events, uint64_t seed,
                                             network::Traffic* traffic) {
  if (parameters.detail == machine::StorageModel::kAnalytic)
    return make_analytic(parameters, events);
  return make_full(parameters, network, events, seed, traffic);
}

}  // namespace sesame::storage
