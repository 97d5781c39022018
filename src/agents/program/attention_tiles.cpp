// Constants of attention.

#include <algorithm>

#include "agents/program/attention.h"

namespace kw::program {

int AttentionTiles::bytes(const AttentionForm& form) const {
  constexpr int padding = 8, element = 2;
  const int key = form.parts * form.head + padding, value = form.value_parts * form.head_v + padding;
  return element * (tile_q * key + stages * tile_k * (key + value));
}

AttentionTiles attention_tiles(const AttentionForm& form) {
  constexpr int most_bytes = 99 << 10;  // what a block may have on all GPUs
  const int largest = std::max(form.head, form.head_v);
  AttentionTiles made;
  made.kept = largest <= 64 && form.parts == 1;
  // A warp has 32 queries, so that a piece of keys or values is read for two products, as far as registers go.
  // In parts that pays only up to heads of 64 (bench/results/attention_h200.md).
  if (form.computed || (form.parts > 1 && largest > 64) || largest > 128) made.tile_q = 64;
  if (form.parts > 1 || largest > 128)
    made.tile_k = 32;
  else if (largest > 96)
    made.tile_k = 48;
  while (made.bytes(form) > most_bytes) {
    if (made.tile_k > 16)
      made.tile_k -= 16;
    else
      made.tile_q /= 2, made.warps /= 2;
  }
  return made;
}

}  // namespace kw::program
