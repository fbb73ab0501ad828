// Makes a datatype object from older ones: type map, bounds, layout and references. Internal to the
// datatype code.
//
// Use: call one make_ function, fill in contents() (datatype_arguments.h), check failed(), then
// call one finish function. Arguments must be valid. Sizes that do not fit 64 bits make failed()
// true. Lengths and displacements are bytes.
#pragma once

#include <vector>

#include "core/mpi/objects/datatype.h"

namespace sesame::mpi {

class DatatypeBuilder {
 public:
  DatatypeBuilder();
  ~DatatypeBuilder();
  DatatypeBuilder(const DatatypeBuilder&) = delete;
  DatatypeBuilder& operator=(const DatatypeBuilder&) = delete;

  // Exactly one of these. `stride` and displacements are bytes.
  void make_basic(Count size, Aint alignment);
  void make_marker(bool is_lower);
  void make_pair(const DatatypeObject& first, const DatatypeObject& second);
  void make_vector(const DatatypeObject& old, Count count, Count blocklength, Aint stride,
                   Aint displacement = 0);
  // One type for all blocks, or one per block. With `lengths` empty, each has `blocklength`.
  void make_blocks(const DatatypeObject& old, std::vector<Aint> displacements,
                   std::vector<Count> lengths, Count blocklength = 1);
  void make_struct(std::vector<DatatypeRef> types, std::vector<Aint> displacements,
                   std::vector<Count> lengths);
  void make_resized(const DatatypeObject& old, Aint lb, Aint extent);
  // The same type again: for duplicates, and for the copies that MPI_Type_get_contents returns.
  void make_copy(const DatatypeObject& old);

  TypeContents& contents();
  void set_committed();
  // An unnamed predefined type: committed, not to be freed.
  void set_predefined(BasicKind kind);

  bool failed() const { return failed_; }
  // The object, in no table and without a reference; the caller owns it.
  DatatypeObject* finish();
  DatatypeRef finish_internal();
  const DatatypeObject* finish_predefined(Datatype handle, BasicKind kind);

 private:
  void bound_and_lay_out(bool pad_to_alignment);
  void lay_out();

  DatatypeObject* object_;
  bool failed_ = false;
};

}  // namespace sesame::mpi
