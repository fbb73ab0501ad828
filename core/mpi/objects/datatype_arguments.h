// Records the arguments of a constructor call in the form in which MPI_Type_get_contents returns
// them: integers, addresses and types in the order of the call. For large-count calls counts and
// addresses are large counts. Internal to the datatype code.
#pragma once

#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_table.h"
#include "core/mpi/objects/int_array.h"

namespace sesame::mpi {

class DatatypeBuilder;

class ArgumentRecorder {
 public:
  ArgumentRecorder(TypeContents& contents, int combiner, bool large)
      : contents_(contents), large_(large) {
    contents.combiner = combiner;
  }
  void add_integer(Count value) {
    if (large_) {
      contents_.large_counts.push_back(value);
    } else {
      contents_.integers.push_back(static_cast<int>(value));
    }
  }
  void add_integers(IntArray values, Count count) {
    for (Count i = 0; i < count; ++i) add_integer(values[i]);
  }
  void add_address(Count value) {
    if (large_) {
      contents_.large_counts.push_back(value);
    } else {
      contents_.addresses.push_back(value);
    }
  }
  void add_addresses(IntArray values, Count count) {
    for (Count i = 0; i < count; ++i) add_address(values[i]);
  }
  // An int in both forms of the call (dimensions, orders, distributions).
  void add_plain(int value) { contents_.integers.push_back(value); }
  void add_plain(const int* values, int count) {
    contents_.integers.insert(contents_.integers.end(), values, values + count);
  }
  void add_type(const DatatypeObject& type) { contents_.types.emplace_back(&type); }

 private:
  TypeContents& contents_;
  bool large_;
};

// Adds the built type to the table and sets *out to its handle. MPI_ERR_ARG when its sizes do not
// fit 64 bits.
int publish(DatatypeTable& table, DatatypeBuilder& builder, Datatype* out);

}  // namespace sesame::mpi
