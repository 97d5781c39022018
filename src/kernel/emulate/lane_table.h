#pragma once
// How the three builds of lanes/ hand their operations over. Plain data only: an inline function or a template of the
// standard library that one of those builds instantiated could be the copy the linker keeps for the whole program,
// AVX-512 instructions included.

#include "kernel/emulate/lane_operations.h"

namespace kw {

struct LaneSignature {
  PtxType destination = PtxType::none;
  PtxType source[5] = {PtxType::none, PtxType::none, PtxType::none, PtxType::none, PtxType::none};
  bool carry_in = false;
  bool carry_out = false;
  bool predicate_result = false;
};

// `pattern` names one or more forms: [.x] is optional, {a|b} are alternatives: "add[.rn].f32", "add.{u32|s32}".
struct LaneTable {
  void* context = nullptr;
  void (*add)(void* context, const char* pattern, LaneOperation run, const LaneSignature& signature) = nullptr;
};

// One function per source file of lanes/ in the namespace of each build.
#define KW_LANE_FAMILIES(declare)                                                                                     \
  declare(integer) declare(carry) declare(bits) declare(shift) declare(compare) declare(compare_half) declare(select) \
      declare(float) declare(half) declare(approximate) declare(convert_integer) declare(convert_to_integer)          \
          declare(convert_float) declare(convert_packed)
#define KW_LANE_DECLARE(family) void add_##family##_rows(const LaneTable& table);
namespace lanes_portable {
KW_LANE_FAMILIES(KW_LANE_DECLARE)
}
namespace lanes_avx2 {
KW_LANE_FAMILIES(KW_LANE_DECLARE)
}
namespace lanes_avx512 {
KW_LANE_FAMILIES(KW_LANE_DECLARE)
}
#undef KW_LANE_DECLARE

}  // namespace kw
