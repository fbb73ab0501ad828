// The seek curve of the simple disk, through the times that data sheets give.
#pragma once

#include "core/machine/storage.h"
#include "core/storage/disk.h"

namespace sesame::storage {

SeekCurve seek_curve(const machine::DeviceParameters& parameters);

}  // namespace sesame::storage
