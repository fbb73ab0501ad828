// The seek curve of the simple disk: it passes through the seek times of a data sheet (single
// cylinder, average, full stroke).
#pragma once

#include "core/machine/storage.h"
#include "core/storage/disk.h"

namespace sesame::storage {

SeekCurve seek_curve(const machine::DeviceParameters& parameters);

}  // namespace sesame::storage
