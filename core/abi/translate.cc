#include "core/abi/translate.h"

#include "core/mpi/api.h"

namespace sesame::abi {

void status_in(const AbiStatus& status, Status* inside) {
  *inside = {0, 0, rank_in(status.MPI_SOURCE), tag_in(status.MPI_TAG), error_in(status.MPI_ERROR)};
  count_in(status, inside);
}

void status_out(const Status& status, AbiStatus* abi) {
  abi->MPI_SOURCE = rank_out(status.MPI_SOURCE);
  abi->MPI_TAG = tag_out(status.MPI_TAG);
  abi->MPI_ERROR = error_out(status.MPI_ERROR);
  count_out(status, abi);
}

// ---- Results ----

namespace {

void store_status(const Status& status, AbiStatus* target) {
  constexpr int kUnset = StatusOut::kUnset;
  if (status.MPI_SOURCE != kUnset || status.MPI_TAG != kUnset) {
    target->MPI_SOURCE = rank_out(status.MPI_SOURCE);
    target->MPI_TAG = tag_out(status.MPI_TAG);
    count_out(status, target);
  }
  if (status.MPI_ERROR != kUnset) target->MPI_ERROR = error_out(status.MPI_ERROR);
}

}  // namespace

void StatusOut::store_fields() { store_status(status_, target_); }

void StatusArrayOut::clear() {
  for (Count i = 0; i < statuses_.size(); ++i) statuses_[i] = StatusOut::kEmpty;
}

void StatusArrayOut::store_all() {
  for (Count i = 0; i < statuses_.size(); ++i) store_status(statuses_[i], &target_[i]);
}

namespace {

// The values of predefined attributes that are constants, where programs can point to them.
constexpr int kRanks[] = {rank_out(MPI_ANY_SOURCE), rank_out(MPI_PROC_NULL), rank_out(MPI_ROOT)};
constexpr int kLastCodes = 1024;
constexpr auto kCodes = [] {
  std::array<int, kLastCodes> codes{};
  for (int i = 0; i < kLastCodes; ++i) codes[static_cast<size_t>(i)] = kAbiLastCode + i;
  return codes;
}();

const int* rank_constant(int rank) {
  for (const int& constant : kRanks) {
    if (constant == rank_out(rank)) return &constant;
  }
  return nullptr;
}

template <ConstantKind kind>
const int* window_constant(int value) {
  for (const Constant& constant : kConstantsOf<kind>) {
    if (constant.inside == value) return &constant.abi;
  }
  return nullptr;
}

const int* code_constant(int code) {
  const int index = std::clamp(error_out(code) - kAbiLastCode, 0, kLastCodes - 1);
  return &kCodes[static_cast<size_t>(index)];
}

const int* predefined_constant(int keyval, int value) {
  switch (keyval) {
    case MPI_LASTUSEDCODE:
      return code_constant(value);
    case MPI_WIN_CREATE_FLAVOR:
      return window_constant<ConstantKind::win_flavor>(value);
    case MPI_WIN_MODEL:
      return window_constant<ConstantKind::win_model>(value);
    default:
      return rank_constant(value);
  }
}

}  // namespace

AttributeOut::AttributeOut(void* target, int keyval)
    : target_(static_cast<void**>(target)), keyval_(keyval) {
  const bool is_translated = keyval == MPI_HOST || keyval == MPI_IO || keyval == MPI_LASTUSEDCODE ||
                             keyval == MPI_WIN_CREATE_FLAVOR || keyval == MPI_WIN_MODEL;
  if (!is_translated) keyval_ = MPI_KEYVAL_INVALID;
  if (is_translated && target_ != nullptr) *target_ = nullptr;
}

void AttributeOut::store() {
  if (keyval_ == MPI_KEYVAL_INVALID || target_ == nullptr || *target_ == nullptr) return;
  const int value = *static_cast<const int*>(*target_);
  const int* constant = predefined_constant(keyval_, value);
  if (constant != nullptr) *target_ = const_cast<int*>(constant);
}

void BufferAddressOut::store() {
  if (target_ == nullptr || value_ == kUnset) return;
  *target_ = value_ == MPI_BUFFER_AUTOMATIC ? reinterpret_cast<void*>(kAbiBufferAutomatic) : value_;
}

// Where the constants stand: MPI 4.1, section 5.1.13. Types made by large-count functions keep
// their sizes elsewhere.
void ContentIntegers::store() {
  if (target_ == nullptr) return;
  Count integers = 0, addresses = 0, large_counts = 0, datatypes = 0;
  int combiner = 0;
  if (mpi::Type_get_envelope_c(datatype_, &integers, &addresses, &large_counts, &datatypes,
                               &combiner) != MPI_SUCCESS ||
      integers == 0 || (combiner != MPI_COMBINER_SUBARRAY && combiner != MPI_COMBINER_DARRAY)) {
    return;
  }
  target_[integers - 1] = order_out(target_[integers - 1]);
  if (combiner != MPI_COMBINER_DARRAY) return;
  const int dimensions = target_[2];
  int* distributions = target_ + 3 + (large_counts == 0 ? dimensions : 0);
  for (int i = 0; i < dimensions; ++i) {
    int& argument = distributions[dimensions + i];
    distributions[i] = distribution_out(distributions[i]);
    argument = distribution_argument_out(argument);
  }
}

}  // namespace sesame::abi
