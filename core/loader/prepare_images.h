// Prepares the images of a program and its private libraries, of which each rank then gets a copy
// (images.h). Internal to the loader.
#pragma once

#include <memory>

#include "core/base/error.h"
#include "core/loader/images.h"

namespace sesame::loader {

// Opens the files, and binds their symbols (resolve.h).
Result<std::unique_ptr<ImageSet>> prepare_images(const Program& program);

}  // namespace sesame::loader
