#include "core/mpi/io/file_tables.h"

#include "core/mpi/messages/rank.h"

namespace sesame::mpi {

FileTables& file_tables(Rank& rank) {
  if (rank.objects.files == nullptr) rank.objects.files = std::make_shared<FileTables>();
  return *rank.objects.files;
}

}  // namespace sesame::mpi
