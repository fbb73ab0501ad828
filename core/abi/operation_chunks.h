// Applies a user operation whose function takes an int length to a longer vector, in several calls.
#pragma once

#include <algorithm>
#include <climits>

#include "core/mpi/api.h"

namespace sesame::abi {

template <typename Call>
void for_each_chunk(void* in, void* inout, mpi::Count count, mpi::Datatype datatype, Call call) {
  if (count <= INT_MAX) [[likely]] {
    call(in, inout, static_cast<int>(count));
    return;
  }
  mpi::Count lower_bound = 0;
  mpi::Count extent = 0;
  mpi::Type_get_extent(datatype, &lower_bound, &extent);
  for (mpi::Count done = 0; done < count;) {
    const int length = static_cast<int>(std::min<mpi::Count>(count - done, INT_MAX));
    call(static_cast<char*>(in) + done * extent, static_cast<char*>(inout) + done * extent, length);
    done += length;
  }
}

}  // namespace sesame::abi
