// A list of integers that a collective gives to all its ranks. A real MPI has a copy of it in
// every process; here there is one for all, or memory would grow with the square of the number of
// ranks. The messages that spread it are simulated, but carry no data.
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

  // What all ranks make of the list: `make` is called by the first that asks. One type for a list.
  template <typename T, typename Make>
  const T& derive(Make make) {
    if (derived_ == nullptr) derived_ = std::make_shared<T>(make(values));
    return *static_cast<const T*>(derived_.get());
  }

 private:
  std::shared_ptr<void> derived_;
};
using SharedListRef = std::shared_ptr<SharedList>;

// The lists to which the ranks of running collectives contribute.
class Gatherings {
 public:
  // The collective: its context, its tag, and the first of its ranks, since groups that have no
  // rank in common may use the same context.
  using Key = std::tuple<uint32_t, int, int>;

  // The list with `size` values; it is there for as long as a rank holds it.
  SharedListRef join(const Key& key, size_t size) {
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
