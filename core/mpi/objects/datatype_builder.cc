#include "core/mpi/objects/datatype_builder.h"

#include <algorithm>
#include <limits>

#include "core/mpi/objects/datatype_layout.h"

namespace sesame::mpi {
namespace {

using Wide = __int128;

constexpr Wide kLargest = std::numeric_limits<Count>::max();
constexpr Wide kSmallest = std::numeric_limits<Count>::min();

// The lowest lower and the highest upper bound. A type of negative extent has `to` below `from`.
struct Interval {
  Wide low = kLargest;
  Wide high = kSmallest;
  bool is_empty = true;
  void add(Wide from, Wide to) {
    is_empty = false;
    low = std::min(low, from);
    high = std::max(high, to);
  }
};

// Collects the bounds of blocks of older types by the rules of MPI 4.1, section 5.1.6 and 5.1.7.
class BoundsCollector {
 public:
  // `repetitions` blocks, `stride` apart, each of `length` types one extent apart.
  void add(const DatatypeObject& type, Wide displacement, Wide length, Wide repetitions = 1,
           Wide stride = 0) {
    const TypeBounds& old = type.bounds();
    if (length == 0 || repetitions == 0) return;
    const Wide last = (length - 1) * type.extent(), last_block = (repetitions - 1) * stride;
    check(length * repetitions), check(last), check(last_block);
    if (!fits_) return;
    const Wide low = displacement + std::min<Wide>(0, last) + std::min<Wide>(0, last_block);
    const Wide high = displacement + std::max<Wide>(0, last) + std::max<Wide>(0, last_block);
    const bool has_data = old.element_count > 0;
    size_ += length * repetitions * old.size;
    elements_ += length * repetitions * old.element_count;
    if (has_data) data_.add(low + old.true_lb, high + old.true_ub);
    if (old.explicit_lb) explicit_low_ = std::min(explicit_low_, low + old.lb);
    if (old.explicit_ub) explicit_high_ = std::max(explicit_high_, high + old.ub);
    explicit_lb_ |= old.explicit_lb;
    explicit_ub_ |= old.explicit_ub;
    if (has_data) natural_.add(low + old.lb, high + old.ub);
    if (has_data) alignment_ = std::max(alignment_, old.alignment);
    check(low + old.lb), check(high + old.ub), check(size_);
  }

  // False when something does not fit.
  bool result(bool pad_to_alignment, TypeBounds* bounds) {
    Wide low = natural_.is_empty ? 0 : natural_.low, high = natural_.is_empty ? 0 : natural_.high;
    if (explicit_lb_) low = explicit_low_;
    if (explicit_ub_) {
      high = explicit_high_;
    } else if (natural_.is_empty) {
      high = low;
    } else if (pad_to_alignment && (high - low) % alignment_ != 0) {
      const Wide excess = (high - low) % alignment_;
      high += excess > 0 ? alignment_ - excess : -excess;
    }
    check(low), check(high), check(high - low);
    if (!fits_) return false;
    bounds->size = static_cast<Count>(size_);
    bounds->element_count = static_cast<Count>(elements_);
    bounds->lb = static_cast<Aint>(low);
    bounds->ub = static_cast<Aint>(high);
    bounds->true_lb = data_.is_empty ? 0 : static_cast<Aint>(data_.low);
    bounds->true_ub = data_.is_empty ? 0 : static_cast<Aint>(data_.high);
    bounds->alignment = alignment_;
    bounds->explicit_lb = explicit_lb_;
    bounds->explicit_ub = explicit_ub_;
    return true;
  }

 private:
  void check(Wide value) { fits_ = fits_ && value >= kSmallest && value <= kLargest; }

  Interval natural_, data_;
  Wide explicit_low_ = kLargest, explicit_high_ = kSmallest;
  Wide size_ = 0, elements_ = 0;
  Aint alignment_ = 1;
  bool explicit_lb_ = false, explicit_ub_ = false, fits_ = true;
};

// The type that this one duplicates or has one copy of, directly or not; otherwise this type.
const DatatypeObject& original(const DatatypeObject& type) {
  const TypeMap& type_map = type.type_map();
  const bool is_copy = type_map.kind == TypeMap::Kind::kVector && type_map.count == 1 &&
                       type_map.blocklength == 1 && type_map.displacement == 0 &&
                       type_map.types[0]->lb() == type.lb() && type_map.types[0]->ub() == type.ub();
  return is_copy ? original(*type_map.types[0]) : type;
}

bool all_same(const std::vector<DatatypeRef>& types) {
  for (const DatatypeRef& type : types) {
    if (&original(*type) != &original(*types[0])) return false;
  }
  return true;
}

Aint round_up(Aint value, Aint unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

DatatypeBuilder::DatatypeBuilder() : object_(new DatatypeObject) {}

DatatypeBuilder::~DatatypeBuilder() { delete object_; }

void DatatypeBuilder::make_basic(Count size, Aint alignment) {
  TypeBounds& bounds = object_->bounds_;
  bounds.size = bounds.ub = bounds.true_ub = size;
  bounds.alignment = alignment;
  bounds.element_count = 1;
  lay_out();
}

void DatatypeBuilder::make_marker(bool is_lower) {
  object_->type_map_.kind = TypeMap::Kind::kStruct;
  object_->type_map_.count = 0;
  object_->bounds_.explicit_lb = is_lower;
  object_->bounds_.explicit_ub = !is_lower;
  lay_out();
}

void DatatypeBuilder::make_pair(const DatatypeObject& first, const DatatypeObject& second) {
  const Aint offset = round_up(first.size(), second.bounds().alignment);
  make_struct({DatatypeRef(&first), DatatypeRef(&second)}, {0, offset}, {});
}

void DatatypeBuilder::make_vector(const DatatypeObject& old, Count count, Count blocklength,
                                  Aint stride, Aint displacement) {
  TypeMap& type_map = object_->type_map_;
  type_map.kind = TypeMap::Kind::kVector;
  type_map.count = count;
  type_map.blocklength = blocklength;
  type_map.stride = stride;
  type_map.displacement = displacement;
  type_map.types.emplace_back(&old);
  bound_and_lay_out(false);
}

void DatatypeBuilder::make_blocks(const DatatypeObject& old, std::vector<Aint> displacements,
                                  std::vector<Count> lengths, Count blocklength) {
  TypeMap& type_map = object_->type_map_;
  type_map.kind = TypeMap::Kind::kStruct;
  type_map.count = static_cast<Count>(displacements.size());
  type_map.blocklength = blocklength;
  type_map.displacements = std::move(displacements);
  type_map.blocklengths = std::move(lengths);
  type_map.types.emplace_back(&old);
  bound_and_lay_out(false);
}

void DatatypeBuilder::make_struct(std::vector<DatatypeRef> types, std::vector<Aint> displacements,
                                  std::vector<Count> lengths) {
  TypeMap& type_map = object_->type_map_;
  type_map.kind = TypeMap::Kind::kStruct;
  type_map.count = static_cast<Count>(displacements.size());
  type_map.displacements = std::move(displacements);
  type_map.blocklengths = std::move(lengths);
  type_map.types = std::move(types);
  // MPI pads every structure to its alignment. MPICH treats a structure of one type as a list of
  // blocks, which it does not pad. This follows MPICH.
  bound_and_lay_out(!all_same(object_->type_map_.types));
}

void DatatypeBuilder::make_resized(const DatatypeObject& old, Aint lb, Aint extent) {
  make_vector(old, 1, 1, 0);
  TypeBounds& bounds = object_->bounds_;
  if (__builtin_add_overflow(lb, extent, &bounds.ub)) failed_ = true;
  bounds.lb = lb;
  // In MPI these bounds take precedence over other types' bounds in a structure. In MPICH they
  // replace older markers and are not explicit from here on. This follows MPICH.
  bounds.explicit_lb = bounds.explicit_ub = false;
  lay_out();
}

void DatatypeBuilder::make_copy(const DatatypeObject& old) {
  make_vector(old, 1, 1, 0);
  object_->bounds_ = old.bounds();
  lay_out();
}

void DatatypeBuilder::bound_and_lay_out(bool pad_to_alignment) {
  const TypeMap& type_map = object_->type_map_;
  BoundsCollector collector;
  if (type_map.kind == TypeMap::Kind::kVector) {
    collector.add(*type_map.types[0], type_map.displacement, type_map.blocklength, type_map.count,
                  type_map.stride);
  } else {
    for (Count i = 0; i < type_map.count; ++i) {
      collector.add(type_map.block_type(i), type_map.displacements[i], type_map.block_length(i));
    }
  }
  failed_ = !collector.result(pad_to_alignment, &object_->bounds_);
  if (!failed_) lay_out();
}

void DatatypeBuilder::lay_out() {
  DatatypeObject& object = *object_;
  if (object.storage_ == nullptr) object.storage_ = std::make_unique<LayoutStorage>();
  if (object.layout_ == nullptr) {
    PlacedLayout part = layout_of_type_map(object.type_map_, object.size(), *object.storage_);
    if (part.node == nullptr) {
      LayoutNode* node = object.storage_->add_node();
      node->size = node->block = part.size;
      part.node = node;
    }
    object.layout_ = part.node;
    object.layout_offset_ = part.offset;
  }
  object.is_contiguous_ = object.layout_->kind == LayoutNode::Kind::kBlock &&
                          object.layout_offset_ == 0 && object.bounds_.lb == 0 &&
                          object.extent() == object.size();
}

TypeContents& DatatypeBuilder::contents() { return object_->contents_; }

void DatatypeBuilder::set_committed() { object_->is_committed_ = true; }

void DatatypeBuilder::set_predefined(BasicKind kind) {
  object_->is_predefined_ = object_->is_committed_ = true;
  object_->basic_kind_ = kind;
}

DatatypeObject* DatatypeBuilder::finish() { return std::exchange(object_, nullptr); }

DatatypeRef DatatypeBuilder::finish_internal() { return DatatypeRef(finish()); }

const DatatypeObject* DatatypeBuilder::finish_predefined(Datatype handle, BasicKind kind) {
  set_predefined(kind);
  object_->handle_ = handle;
  object_->is_immortal_ = true;
  return finish();
}

}  // namespace sesame::mpi
