#include "core/storage/file_system.h"

#include "core/storage/analytic.h"

namespace sesame::storage {

Result<std::unique_ptr<FileSystem>> make_file_system(const machine::StorageParameters& parameters,
                                                     const network::Network& network,
                                                     pdes::EventQueue& events, uint64_t) {
  return make_analytic(parameters, network, events);
}

}  // namespace sesame::storage
