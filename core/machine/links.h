// How many links a topology has that messages may share.
#pragma once

#include "core/machine/machine.h"

namespace sesame::machine {

// In floating point, since a machine file may have any factors. network/routes.h numbers the links,
// with some that no route takes: of a router to itself. None for a crossbar.
double count_links(const Topology& topology, double nodes);

}  // namespace sesame::machine
