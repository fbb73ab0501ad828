#include "core/mpi/objects/type_signature.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/mpi/objects/datatype_predefined.h"

namespace sesame::mpi {
namespace {

// Longer sequences are not compared: they agree with everything.
constexpr size_t kMostRuns = 1024;

struct Element {
  const char* name;
  uint64_t bytes;
};
// Elements by number, which is the signature of types that have only this element.
constexpr Element kElements[] = {{"byte", 1},
                                 {"1-byte integer", 1},
                                 {"2-byte integer", 2},
                                 {"4-byte integer", 4},
                                 {"8-byte integer", 8},
                                 {"16-byte integer", 16},
                                 {"2-byte floating-point number", 2},
                                 {"2-byte bfloat16 number", 2},
                                 {"4-byte floating-point number", 4},
                                 {"8-byte floating-point number", 8},
                                 {"80-bit floating-point number", 16},
                                 {"16-byte floating-point number", 16}};
constexpr SignatureId kFirstInteger = 1, kFirstSequence = std::size(kElements);

SignatureId integer_of(uint64_t bytes) {
  SignatureId id = kFirstInteger;
  while (kElements[id].bytes < bytes) ++id;
  return id;
}

SignatureId element_of(BasicKind kind, uint64_t bytes) {
  switch (kind) {
    case BasicKind::kNone:
    case BasicKind::kBytes:
    case BasicKind::kPair:
    case BasicKind::kCount:
      return kAnySignature;
    case BasicKind::kFloat16:
    case BasicKind::kComplexFloat16:
      return 6;
    case BasicKind::kBfloat16:
      return 7;
    case BasicKind::kFloat32:
    case BasicKind::kComplexFloat32:
      return 8;
    case BasicKind::kFloat64:
    case BasicKind::kComplexFloat64:
      return 9;
    case BasicKind::kFloat80:
    case BasicKind::kComplexFloat80:
      return 10;
    case BasicKind::kFloat128:
    case BasicKind::kComplexFloat128:
      return 11;
    default:  // characters, truth values and integers
      return integer_of(bytes);
  }
}

// `count` elements in a row. A sequence of such runs is repeated for the length of a message.
struct Run {
  SignatureId element;
  uint64_t count;
  auto operator<=>(const Run&) const = default;
  uint64_t bytes() const { return count * kElements[element].bytes; }
};
using Sequence = std::vector<Run>;

// All sequences of the process; a program has few.
std::vector<Sequence>& sequences() {
  static auto* const all = new std::vector<Sequence>;
  return *all;
}

Sequence sequence_of(SignatureId id) {
  return id < kFirstSequence ? Sequence{{id, 1}} : sequences()[id - kFirstSequence];
}

SignatureId number_of(Sequence sequence) {
  if (sequence.empty() || sequence.size() > kMostRuns) return kAnySignature;
  if (sequence.size() == 1) return sequence[0].element;
  static auto* const known = new std::map<Sequence, SignatureId>;
  const auto [entry, is_new] =
      known->emplace(std::move(sequence), kFirstSequence + static_cast<SignatureId>(known->size()));
  if (is_new) sequences().push_back(entry->first);
  return entry->second;
}

void append(Sequence& to, const Run& run) {
  if (run.count == 0) return;
  if (!to.empty() && to.back().element == run.element) {
    to.back().count += run.count;
  } else {
    to.push_back(run);
  }
}

void append_copies(Sequence& to, const DatatypeObject& type, uint64_t copies) {
  if (type.size() == 0 || copies == 0) return;
  const SignatureId id = type.signature();
  if (id < kFirstSequence) {
    const uint64_t bytes = copies * static_cast<uint64_t>(type.size());
    return append(to, {id, bytes / kElements[id].bytes});
  }
  const Sequence& one = sequences()[id - kFirstSequence];
  uint64_t bytes = 0;
  for (const Run& run : one) bytes += run.bytes();
  const uint64_t repetitions = copies * static_cast<uint64_t>(type.size()) / bytes;
  for (uint64_t i = 0; i < repetitions && to.size() <= kMostRuns; ++i) {
    for (const Run& run : one) append(to, run);
  }
}

SignatureId signature_from_type_map(const DatatypeObject& type) {
  const TypeMap& type_map = type.type_map();
  if (type_map.kind == TypeMap::Kind::kBasic) {
    return element_of(type.basic_kind(), static_cast<uint64_t>(type.size()));
  }
  // The repetition of a sequence has the same signature.
  if (type_map.kind == TypeMap::Kind::kVector) return type_map.block_type(0).signature();
  Sequence sequence;
  for (Count i = 0; i < type_map.count && sequence.size() <= kMostRuns; ++i) {
    append_copies(sequence, type_map.block_type(i),
                  static_cast<uint64_t>(type_map.block_length(i)));
  }
  return number_of(std::move(sequence));
}

// Iterates over the elements of a repeated sequence and counts bytes.
class Walk {
 public:
  explicit Walk(Sequence sequence) : sequence_(std::move(sequence)), left_(sequence_[0].bytes()) {}
  SignatureId element() const { return sequence_[at_].element; }
  uint64_t left() const { return left_; }
  void advance(uint64_t bytes) {
    left_ -= bytes;
    if (left_ > 0) return;
    at_ = (at_ + 1) % sequence_.size();
    left_ = sequence_[at_].bytes();
  }
  bool is_between_elements() const { return left_ % kElements[element()].bytes == 0; }

 private:
  Sequence sequence_;
  size_t at_ = 0;
  uint64_t left_;
};

std::string describe_run(const Run& run) {
  const std::string name = kElements[run.element].name;
  return run.count == 1 ? "a " + name : std::to_string(run.count) + " " + name + "s";
}

}  // namespace

void DatatypeObject::find_signature() const { signature_ = signature_from_type_map(*this); }

bool do_sequences_agree(SignatureId a, SignatureId b, uint64_t bytes) {
  if (a < kFirstSequence && b < kFirstSequence) return bytes == 0;
  Walk first(sequence_of(a));
  Walk second(sequence_of(b));
  for (uint64_t done = 0; done < bytes;) {
    const bool same = first.element() == second.element() &&
                      first.is_between_elements() == second.is_between_elements();
    if (!same && first.element() != kAnySignature && second.element() != kAnySignature)
      return false;
    const uint64_t step = std::min(first.left(), second.left());
    first.advance(step);
    second.advance(step);
    done += step;
  }
  return true;
}

std::string describe_signature(SignatureId signature) {
  if (signature < kFirstSequence) return std::string(kElements[signature].name) + "s";
  constexpr size_t kShown = 4;
  const Sequence sequence = sequence_of(signature);
  std::string text = "sequences of ";
  for (size_t i = 0; i < std::min(sequence.size(), kShown); ++i) {
    if (i > 0) text += i + 1 == sequence.size() ? " and " : ", ";
    text += describe_run(sequence[i]);
  }
  return sequence.size() > kShown ? text + ", …" : text;
}

bool is_universal(SignatureId signature) { return signature < kFirstSequence; }

}  // namespace sesame::mpi
