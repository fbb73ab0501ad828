// Temporary memory of a collective: small amounts inside the object, that is on the stack, larger
// ones on the heap. Not initialised. Freed with the object. Sizes are bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/messages/request.h"

namespace sesame::mpi::collectives {

class Workspace {
 public:
  explicit Workspace(Count bytes)
      : data_(bytes <= kInlineBytes
                  ? inline_
                  : static_cast<char*>(::operator new(static_cast<size_t>(bytes)))) {}
  ~Workspace() {
    if (data_ != inline_) ::operator delete(data_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  char* data() { return data_; }
  char* at(Count bytes) { return data_ + bytes; }

 private:
  static constexpr Count kInlineBytes = 256;
  alignas(16) char inline_[kInlineBytes];
  char* data_;
};

// Memory for `count` elements of a type in the type's own layout, which may start before or after
// data(), the address to pass as the buffer.
class TypedWorkspace {
 public:
  TypedWorkspace(Count count, const DatatypeObject& type)
      : bytes_(type.span(count)),
        buffer_(shift(bytes_.data(), -(type.true_lb() + std::min<Aint>(0, type.extent()) *
                                                            std::max<Count>(0, count - 1)))) {}

  void* data() { return buffer_; }

 private:
  Workspace bytes_;
  void* buffer_;
};

// Requests of messages that are in flight at the same time, at most `capacity`. clear() makes it
// empty again; REQUIRES: all are complete.
class RequestBatch {
 public:
  explicit RequestBatch(size_t capacity) : requests_(new RequestObject[capacity]) {}

  RequestObject& next() { return requests_[used_++]; }
  std::span<RequestObject> started() { return {requests_.get(), used_}; }
  void clear() {
    for (RequestObject& request : started()) {
      std::destroy_at(&request);
      std::construct_at(&request);
    }
    used_ = 0;
  }

 private:
  std::unique_ptr<RequestObject[]> requests_;
  size_t used_ = 0;
};

}  // namespace sesame::mpi::collectives
