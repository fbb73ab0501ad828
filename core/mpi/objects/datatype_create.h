// The constructors of derived datatypes. Each checks its arguments and returns an MPI error class
// and, on success, a new handle of the table in *out. `large`: the program called the large-count
// form (_c), so that the envelope reports large counts. Arrays are only read during the call.
// Counts are elements, Aint arguments bytes.
#pragma once

#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/int_array.h"

namespace sesame::mpi {

class DatatypeTable;

int type_contiguous(DatatypeTable& table, Count count, Datatype old, Datatype* out,
                    bool large = false);
int type_vector(DatatypeTable& table, Count count, Count blocklength, Count stride, Datatype old,
                Datatype* out, bool large = false);
int type_create_hvector(DatatypeTable& table, Count count, Count blocklength, Aint stride,
                        Datatype old, Datatype* out, bool large = false);
int type_indexed(DatatypeTable& table, Count count, IntArray blocklengths, IntArray displacements,
                 Datatype old, Datatype* out, bool large = false);
int type_create_hindexed(DatatypeTable& table, Count count, IntArray blocklengths,
                         IntArray displacements, Datatype old, Datatype* out, bool large = false);
int type_create_indexed_block(DatatypeTable& table, Count count, Count blocklength,
                              IntArray displacements, Datatype old, Datatype* out,
                              bool large = false);
int type_create_hindexed_block(DatatypeTable& table, Count count, Count blocklength,
                               IntArray displacements, Datatype old, Datatype* out,
                               bool large = false);
int type_create_struct(DatatypeTable& table, Count count, IntArray blocklengths,
                       IntArray displacements, const Datatype* types, Datatype* out,
                       bool large = false);
int type_create_subarray(DatatypeTable& table, int ndims, IntArray sizes, IntArray subsizes,
                         IntArray starts, int order, Datatype old, Datatype* out,
                         bool large = false);
int type_create_darray(DatatypeTable& table, int size, int rank, int ndims, IntArray gsizes,
                       const int* distribs, const int* dargs, const int* psizes, int order,
                       Datatype old, Datatype* out, bool large = false);
int type_create_resized(DatatypeTable& table, Datatype old, Aint lb, Aint extent, Datatype* out,
                        bool large = false);
// Copies neither name nor attributes: the caller copies the attributes, which may call the program.
int type_dup(DatatypeTable& table, Datatype old, Datatype* out);

// Each returns the same handle for the same parameters. The types are predefined: committed, not to
// be freed.
int type_create_f90_integer(DatatypeTable& table, int range, Datatype* out);
int type_create_f90_real(DatatypeTable& table, int precision, int range, Datatype* out);
int type_create_f90_complex(DatatypeTable& table, int precision, int range, Datatype* out);
int type_match_size(int type_class, int size, Datatype* out);
// MPI_DATATYPE_NULL and success when there is no such pair type.
int type_get_value_index(DatatypeTable& table, Datatype value, Datatype index, Datatype* out);

int type_commit(DatatypeTable& table, Datatype* datatype);
int type_free(DatatypeTable& table, Datatype* datatype);

}  // namespace sesame::mpi
