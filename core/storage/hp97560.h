// The HP 97560, the disk of the SESAME report (5.4.2) and of the literature on parallel I/O of its
// time, with all its constants.
#pragma once

#include "core/storage/disk.h"

namespace sesame::storage {

DiskConstants hp97560();

}  // namespace sesame::storage
