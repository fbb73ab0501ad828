// Queries of datatypes and of the number of elements received. Functions check their arguments and
// return MPI error classes. Counts are 64-bit integers (MPI_UNDEFINED where MPI requires it); the
// caller narrows them for the classic entry points. Sizes and extents are bytes.
#pragma once

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

class DatatypeObject;
class DatatypeTable;

int type_size(const DatatypeTable& table, Datatype datatype, Count* size);
int type_get_extent(const DatatypeTable& table, Datatype datatype, Count* lb, Count* extent);
int type_get_true_extent(const DatatypeTable& table, Datatype datatype, Count* lb, Count* extent);
// `name` must hold MPI_MAX_OBJECT_NAME characters. MPI_DATATYPE_NULL has a name too.
int type_get_name(const DatatypeTable& table, Datatype datatype, char* name, int* length);
int type_set_name(DatatypeTable& table, Datatype datatype, const char* name);

struct Envelope {
  Count integers = 0, addresses = 0, large_counts = 0, types = 0;
  int combiner = 0;
};
// The classic form (large = false) is an error on types made by large-count constructors.
int type_get_envelope(const DatatypeTable& table, Datatype datatype, Envelope* envelope,
                      bool large = false);
// The maxima are the lengths of the arrays. Derived types are returned as new handles.
int type_get_contents(DatatypeTable& table, Datatype datatype, const Envelope& maxima,
                      int* integers, Aint* addresses, Count* large_counts, Datatype* types,
                      bool large = false);

int get_count(const DatatypeTable& table, const Status& status, Datatype datatype, Count* count);
int get_elements(const DatatypeTable& table, const Status& status, Datatype datatype, Count* count);
int status_set_elements(const DatatypeTable& table, Status* status, Datatype datatype, Count count);

// The number of basic elements in the first `bytes` packed bytes of a sequence of `type`,
// MPI_UNDEFINED when the last one is incomplete; and the packed bytes of the first `elements` basic
// elements.
Count elements_in_bytes(const DatatypeObject& type, Count bytes);
Count bytes_of_elements(const DatatypeObject& type, Count elements);

}  // namespace sesame::mpi
