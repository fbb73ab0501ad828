// The keys of [storage] and [node.storage], and the words that some of them take.
#pragma once

#include <string>
#include <vector>

#include "core/machine/key.h"

namespace sesame::machine {

// In the order of the enumerations of storage.h.
inline constexpr const char* kStorageModelWords[] = {"analytic", "full"};
inline constexpr const char* kLayoutWords[] = {"round-robin", "vesta"};
inline constexpr const char* kPolicyWords[] = {"base", "greedy", "coordinated", "global"};
inline constexpr const char* kCoherenceWords[] = {"invalidate", "update"};
inline constexpr const char* kWriteHitWords[] = {"back", "through"};
inline constexpr const char* kWriteMissWords[] = {"allocate", "around"};
inline constexpr const char* kDeviceWords[] = {"fixed", "disk", "hp97560", "solid-state"};
inline constexpr const char* kQueueWords[] = {"fcfs", "sstf", "scan", "c-look"};
inline constexpr const char* kRaidWords[] = {"none", "raid0", "raid3", "raid5"};
inline constexpr const char* kCollectiveWords[] = {"barrier", "grouping", "two-phase",
                                                   "disk-directed"};
inline constexpr const char* kCollectiveUseWords[] = {"enable", "automatic", "disable"};
inline constexpr const char* kIoListWords[] = {"joined", "literal"};

// `table` is "storage" or "node.storage".
std::vector<Key> storage_keys(const std::string& table);

}  // namespace sesame::machine
