#pragma once
// The operations that decoded instructions point at, by the file that has them.

#include "kernel/emulate/program.h"

namespace kw {

// engine_registers.cpp
void run_lane_1(Warp& warp, const Instruction& instruction, LaneMask active);
void run_lane_2(Warp& warp, const Instruction& instruction, LaneMask active);
void run_lane_3(Warp& warp, const Instruction& instruction, LaneMask active);
void run_lane_general(Warp& warp, const Instruction& instruction, LaneMask active);
void run_compare(Warp& warp, const Instruction& instruction, LaneMask active);  // setp of two registers
void run_select(Warp& warp, const Instruction& instruction, LaneMask active);   // selp
void run_move_32(Warp& warp, const Instruction& instruction, LaneMask active);
void run_move_64(Warp& warp, const Instruction& instruction, LaneMask active);
void run_pack(Warp& warp, const Instruction& instruction,
              LaneMask active);  // mov.b64 %rd, {%r1, %r2}; detail: MemoryAccess
void run_unpack(Warp& warp, const Instruction& instruction, LaneMask active);
enum PredicateLogic : std::uint16_t {
  predicate_move,
  predicate_not,
  predicate_and,
  predicate_or,
  predicate_xor,
  predicate_constant
};
void run_predicate_logic(Warp& warp, const Instruction& instruction, LaneMask active);
void run_add_window(Warp& warp, const Instruction& instruction, LaneMask active);  // cvta
void run_isspacep(Warp& warp, const Instruction& instruction, LaneMask active);
void run_clock(Warp& warp, const Instruction& instruction, LaneMask active);
void run_nothing(Warp& warp, const Instruction& instruction, LaneMask active);
void run_fence(Warp& warp, const Instruction& instruction, LaneMask active);

// engine_memory.cpp
void run_load(Warp& warp, const Instruction& instruction, LaneMask active);
void run_store(Warp& warp, const Instruction& instruction, LaneMask active);
void run_load_parameter(Warp& warp, const Instruction& instruction,
                        LaneMask active);  // of the kernel, at a constant offset

// engine_atomic.cpp
void run_atomic(Warp& warp, const Instruction& instruction, LaneMask active);

// engine_async.cpp
void run_copy_async(Warp& warp, const Instruction& instruction, LaneMask active);
void run_copy_commit(Warp& warp, const Instruction& instruction, LaneMask active);
void run_copy_wait(Warp& warp, const Instruction& instruction,
                   LaneMask active);  // immediate: groups that may stay under way

// engine_exchange.cpp
enum ShuffleMode : std::uint16_t { shuffle_up, shuffle_down, shuffle_butterfly, shuffle_index };
void run_shuffle(Warp& warp, const Instruction& instruction, LaneMask active);
enum VoteMode : std::uint16_t { vote_all, vote_any, vote_uniform, vote_ballot };
void run_vote(Warp& warp, const Instruction& instruction, LaneMask active);
void run_match_any(Warp& warp, const Instruction& instruction, LaneMask active);
void run_match_all(Warp& warp, const Instruction& instruction, LaneMask active);
enum ReduxMode : std::uint16_t {
  redux_add,
  redux_min_s,
  redux_min_u,
  redux_max_s,
  redux_max_u,
  redux_and,
  redux_or,
  redux_xor
};
void run_redux(Warp& warp, const Instruction& instruction, LaneMask active);
void run_activemask(Warp& warp, const Instruction& instruction, LaneMask active);
void run_elect(Warp& warp, const Instruction& instruction, LaneMask active);
void run_warp_sync(Warp& warp, const Instruction& instruction, LaneMask active);

// engine_matrix.cpp
void run_ldmatrix(Warp& warp, const Instruction& instruction, LaneMask active);
void run_stmatrix(Warp& warp, const Instruction& instruction, LaneMask active);
void run_mma(Warp& warp, const Instruction& instruction, LaneMask active);
void run_wmma(Warp& warp, const Instruction& instruction, LaneMask active);
void run_wmma_load(Warp& warp, const Instruction& instruction, LaneMask active);
void run_wmma_store(Warp& warp, const Instruction& instruction, LaneMask active);

}  // namespace kw
