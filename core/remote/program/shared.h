// How the libraries of a rank's process declare what they offer each other.
#pragma once

#define SESAME_SHARED extern "C" __attribute__((visibility("default")))
