#include "layout.h"

#include <string.h>

static bool may_add(SesameLayout* layout, size_t runs) {
  layout->work += (uint32_t)runs;
  if (layout->work > SESAME_LAYOUT_WORK || runs > SESAME_LAYOUT_CAPACITY - layout->used) {
    layout->failed = true;
  }
  return !layout->failed;
}

void sesame_layout_add(SesameLayout* layout, int64_t bytes) {
  if (bytes == 0 || !may_add(layout, 1)) return;
  layout->runs[layout->used++] = (SesameRun){.bytes = bytes, .count = 1};
}

void sesame_layout_copy(SesameLayout* layout, size_t first, size_t end) {
  if (layout->failed || !may_add(layout, end - first)) return;
  memcpy(layout->runs + layout->used, layout->runs + first, (end - first) * sizeof(SesameRun));
  layout->used += end - first;
}

void sesame_layout_move(SesameLayout* layout, size_t first, int64_t by) {
  for (size_t i = first; i < layout->used; ++i) layout->runs[i].offset += by;
}

void sesame_layout_remove(SesameLayout* layout, size_t first, size_t end) {
  if (layout->failed) return;
  memmove(layout->runs + first, layout->runs + end, (layout->used - end) * sizeof(SesameRun));
  layout->used -= end - first;
}

/* Adds `next` to `run` if it continues its blocks; returns whether it does. */
static bool extend(SesameRun* run, const SesameRun* next) {
  if (run->count == 1 && next->count == 1 && run->offset + run->bytes == next->offset) {
    run->bytes += next->bytes;
    return true;
  }
  const int64_t stride = run->count > 1 ? run->stride : next->offset - run->offset;
  if (run->bytes != next->bytes || (next->count > 1 && next->stride != stride)) return false;
  if (next->offset != run->offset + run->count * stride) return false;
  run->stride = stride;
  run->count += next->count;
  return true;
}

void sesame_layout_join(SesameLayout* layout, size_t first, size_t section) {
  if (layout->failed) return;
  size_t end = section;
  for (size_t i = section; i < layout->used; ++i) {
    const SesameRun next = layout->runs[i];
    if (end == first || !extend(&layout->runs[end - 1], &next)) layout->runs[end++] = next;
  }
  layout->used = end;
}

/* Repeats one run within itself; false if that makes several runs. */
static bool repeat_run(SesameRun* run, int64_t count, int64_t stride) {
  if (run->count == 1 && stride == run->bytes) {
    run->bytes *= count;
  } else if (run->count == 1) {
    run->count = count;
    run->stride = stride;
  } else if (stride == run->count * run->stride) {
    run->count *= count;
  } else {
    return false;
  }
  return true;
}

void sesame_layout_repeat(SesameLayout* layout, size_t first, int64_t count, int64_t stride) {
  if (layout->failed) return;
  if (count <= 0) layout->used = first;
  const size_t end = layout->used;
  if (end == first || count == 1) return;
  if (end - first == 1 && repeat_run(&layout->runs[first], count, stride)) return;
  for (int64_t i = 0; i < count && !layout->failed; ++i) {
    const size_t section = layout->used;
    sesame_layout_copy(layout, first, end);
    sesame_layout_move(layout, section, i * stride);
    sesame_layout_join(layout, end, section);
  }
  sesame_layout_remove(layout, first, end);
}

void sesame_layout_deal(SesameLayout* layout, size_t first, int64_t total, int64_t block,
                        int64_t processes, int64_t place, int64_t stride) {
  if (layout->failed) return;
  const int64_t round = block * processes, begin = block * place;
  const int64_t behind = total - begin; /* elements from the first of this process on */
  const int64_t whole = behind >= block ? (behind - block) / round + 1 : 0;
  int64_t rest = behind - whole * round; /* what is left for the block after those */
  rest = rest < 0 ? 0 : rest < block ? rest : block;
  const size_t end = layout->used;
  sesame_layout_copy(layout, first, end);
  sesame_layout_repeat(layout, end, block, stride);
  sesame_layout_repeat(layout, end, whole, round * stride);
  const size_t section = layout->used;
  sesame_layout_copy(layout, first, end);
  sesame_layout_repeat(layout, section, rest, stride);
  sesame_layout_move(layout, section, whole * round * stride);
  sesame_layout_join(layout, end, section);
  sesame_layout_remove(layout, first, end);
  sesame_layout_move(layout, first, begin * stride);
}
