// Constants of attention.

#include "agents/program/attention.h"

namespace kw::program {

int AttentionTiles::bytes(int head, int head_v) const {
  constexpr int padding = 8, element = 2;
  return element * (tile_q * (head + padding) + stages * tile_k * (head + head_v + 2 * padding));
}

AttentionTiles attention_tiles(int head, int head_v) {
  const int largest = head > head_v ? head : head_v;
  AttentionTiles made;
  if (largest <= 64) return made;
  // A warp has 32 queries, so that a piece of keys or values is read for two products, as far as registers go.
  made.kept = false;
  if (largest <= 128) {
    made.tile_k = largest <= 96 ? 64 : 48;
    return made;
  }
  made.tile_q = 64;
  made.tile_k = 32;
  return made;
}

}  // namespace kw::program
