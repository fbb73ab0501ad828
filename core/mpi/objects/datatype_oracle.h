// For tests: random nested datatypes, each with its complete type map, made by the definitions of
// the standard, one basic element after the other. Slow and obvious on purpose.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "core/base/check.h"
#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_create.h"
#include "core/mpi/objects/datatype_table.h"

namespace sesame::mpi {

struct MapEntry {
  Aint offset;
  Datatype basic;
  Count size;
};

struct ModelType {
  Datatype handle = MPI_DATATYPE_NULL;
  std::vector<MapEntry> map;
  Aint lb = 0, ub = 0;

  Aint extent() const { return ub - lb; }
  Count size() const {
    Count bytes = 0;
    for (const MapEntry& entry : map) bytes += entry.size;
    return bytes;
  }
  // Appends `length` copies of `old`, one extent apart, from `offset`.
  void append(const ModelType& old, Aint offset, Count length) {
    for (Count i = 0; i < length; ++i) {
      const Aint at = offset + i * old.extent();
      if (old.map.empty()) continue;
      lb = map.empty() ? at + old.lb : std::min(lb, at + old.lb);
      ub = map.empty() ? at + old.ub : std::max(ub, at + old.ub);
      for (const MapEntry& entry : old.map) {
        map.push_back({at + entry.offset, entry.basic, entry.size});
      }
    }
  }
  // The offsets of all bytes of `count` copies, in type-map order.
  std::vector<Aint> bytes(Count count) const {
    std::vector<Aint> offsets;
    for (Count i = 0; i < count; ++i) {
      for (const MapEntry& entry : map) {
        for (Count b = 0; b < entry.size; ++b) {
          offsets.push_back(i * extent() + entry.offset + b);
        }
      }
    }
    return offsets;
  }
};

class RandomTypes {
 public:
  RandomTypes(DatatypeTable& table, uint64_t seed) : table_(table), random_(seed) {}

  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  ModelType make(int depth) {
    if (depth == 0 || between(0, 9) == 0) return basic();
    if (between(0, 4) == 0) return structure(depth);
    const ModelType old = make(depth - 1);
    switch (between(0, 5)) {
      case 0:
        return contiguous(old);
      case 1:
        return vector(old);
      case 2:
        return resized(old);
      case 3:
        return subarray(old);
      default:
        return indexed(old);
    }
  }

  ModelType basic() {
    constexpr Datatype kBasics[] = {MPI_CHAR,   MPI_SHORT,       MPI_INT,       MPI_FLOAT,
                                    MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_INTEGER16, MPI_C_BOOL};
    ModelType type;
    type.handle = kBasics[between(0, 7)];
    type.ub = table_.find(type.handle)->size();
    type.map = {{0, type.handle, type.ub}};
    return type;
  }

 private:
  static void expect_success(int status) { CHECK(status == MPI_SUCCESS); }

  ModelType contiguous(const ModelType& old) {
    ModelType type;
    const int count = between(0, 6);
    expect_success(type_contiguous(table_, count, old.handle, &type.handle));
    type.append(old, 0, count);
    return type;
  }

  ModelType vector(const ModelType& old) {
    ModelType type;
    const int count = between(0, 5), length = between(0, 3), stride = between(-5, 8);
    const bool in_bytes = between(0, 1) == 1;
    const Aint bytes = stride * (in_bytes ? 7 : old.extent());
    if (in_bytes) {
      expect_success(type_create_hvector(table_, count, length, bytes, old.handle, &type.handle));
    } else {
      expect_success(type_vector(table_, count, length, stride, old.handle, &type.handle));
    }
    for (int i = 0; i < count; ++i) type.append(old, i * bytes, length);
    return type;
  }

  ModelType resized(const ModelType& old) {
    ModelType type = old;
    type.lb = old.lb + between(-9, 9);
    type.ub = type.lb + between(-20, 60);
    expect_success(type_create_resized(table_, old.handle, type.lb, type.extent(), &type.handle));
    return type;
  }

  ModelType indexed(const ModelType& old) {
    ModelType type;
    const int count = between(0, 8), same = between(1, 3);
    const bool in_bytes = between(0, 1) == 1, uniform = between(0, 1) == 1;
    const Aint unit = in_bytes ? 1 : old.extent();
    std::vector<int> lengths, positions;
    std::vector<Aint> bytes;
    for (int i = 0; i < count; ++i) {
      lengths.push_back(uniform ? same : between(0, 4));
      positions.push_back(between(-20, 20));
      bytes.push_back(positions.back());
      type.append(old, positions.back() * unit, lengths.back());
    }
    if (in_bytes && uniform) {
      expect_success(
          type_create_hindexed_block(table_, count, same, bytes.data(), old.handle, &type.handle));
    } else if (in_bytes) {
      expect_success(type_create_hindexed(table_, count, lengths.data(), bytes.data(), old.handle,
                                          &type.handle));
    } else if (uniform) {
      expect_success(type_create_indexed_block(table_, count, same, positions.data(), old.handle,
                                               &type.handle));
    } else {
      expect_success(
          type_indexed(table_, count, lengths.data(), positions.data(), old.handle, &type.handle));
    }
    return type;
  }

  // Resizes the structure so that it has no padding. The comparison with MPICH checks the padding.
  ModelType structure(int depth) {
    ModelType type, whole;
    std::vector<Datatype> handles;
    std::vector<int> lengths;
    std::vector<Aint> bytes;
    for (int i = between(0, 5); i > 0; --i) {
      const ModelType part = make(depth - 1);
      handles.push_back(part.handle);
      lengths.push_back(between(0, 3));
      bytes.push_back(between(-100, 100));
      type.append(part, bytes.back(), lengths.back());
    }
    Datatype padded;
    expect_success(type_create_struct(table_, static_cast<Count>(handles.size()), lengths.data(),
                                      bytes.data(), handles.data(), &padded));
    expect_success(type_create_resized(table_, padded, type.lb, type.extent(), &type.handle));
    return type;
  }

  ModelType subarray(const ModelType& old) {
    ModelType type;
    int sizes[3], subsizes[3], starts[3];
    const int order = between(0, 1) == 1 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    for (int i = 0; i < 3; ++i) {
      sizes[i] = between(1, 4);
      subsizes[i] = between(1, sizes[i]);
      starts[i] = between(0, sizes[i] - subsizes[i]);
    }
    expect_success(
        type_create_subarray(table_, 3, sizes, subsizes, starts, order, old.handle, &type.handle));
    const bool c = order == MPI_ORDER_C;
    const int slow = c ? 0 : 2, fast = c ? 2 : 0;
    for (int i = 0; i < subsizes[slow]; ++i) {
      for (int j = 0; j < subsizes[1]; ++j) {
        for (int k = 0; k < subsizes[fast]; ++k) {
          const int row = (i + starts[slow]) * sizes[1] + j + starts[1];
          type.append(old, (row * sizes[fast] + k + starts[fast]) * old.extent(), 1);
        }
      }
    }
    type.lb = 0;
    type.ub = sizes[0] * sizes[1] * sizes[2] * old.extent();
    return type;
  }

  DatatypeTable& table_;
  std::mt19937_64 random_;
};

}  // namespace sesame::mpi
