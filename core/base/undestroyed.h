// Undestroyed: a static object without destructor. Exit handlers and destructors of other libraries
// may use it until the process is gone, in whatever order they run. What it owns is left to the
// kernel.
//
// Use: `constinit Undestroyed<std::vector<int>> numbers;`, then numbers->size() and *numbers.
// Without `constinit`, which takes a constexpr constructor, it must not be used before static
// objects of its library are made.
#pragma once

namespace sesame {

template <typename T>
class Undestroyed {
 public:
  constexpr Undestroyed() : object_() {}
  constexpr ~Undestroyed() {}
  Undestroyed(const Undestroyed&) = delete;
  Undestroyed& operator=(const Undestroyed&) = delete;

  constexpr T& operator*() { return object_; }
  constexpr T* operator->() { return &object_; }

 private:
  union {
    T object_;
  };
};

}  // namespace sesame
