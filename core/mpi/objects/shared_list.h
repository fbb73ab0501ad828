// Lists of integers that a collective gives to all its ranks. In a real MPI every process has a
// copy; here all ranks share one, since otherwise memory would grow with the square of the number
// of ranks. The messages that distribute a list are simulated but carry no data
// (Transfer::send_length). One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace sesame::mpi {

class SharedList {
 public:
  std::vector<int> values;

  // A value that is made of the list only once for all ranks, by the first call. All calls for a
  // list must use the same T and an equivalent `make`.
  template <typename T, typename Make>
  const T& derive(Make make) {
    if (derived_ == nullptr) derived_ = std::make_shared<T>(make(values));
    return *static_cast<const T*>(derived_.get());
  }

 private:
  std::shared_ptr<void> derived_;
};
using SharedListRef = std::shared_ptr<SharedList>;

// The lists of running collectives, to which each rank contributes.
class SharedLists {
 public:
  // The collective: its context, its tag, and the first of its ranks, since groups that have no
  // rank in common may use the same context.
  using Key = std::tuple<uint32_t, int, int>;

  // The collective's list of `size` values; it exists as long as a rank holds a reference.
  SharedListRef find_or_create(const Key& key, size_t size) {
    std::weak_ptr<SharedList>& known = lists_[key];
    if (SharedListRef list = known.lock()) return list;
    SharedListRef list(new SharedList, [this, key](SharedList* ended) {
      lists_.erase(key);
      delete ended;
    });
    list->values.resize(size);
    known = list;
    return list;
  }

 private:
  std::map<Key, std::weak_ptr<SharedList>> lists_;
};

}  // namespace sesame::mpi
