// The constants of the HP 97560, the disk of the SESAME report (5.4.2) and of much of the
// literature on parallel I/O of the 1990s. hp97560.cc has their sources.
#pragma once

#include "core/storage/disk.h"

namespace sesame::storage {

DiskConstants hp97560();

}  // namespace sesame::storage
