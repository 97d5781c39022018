#include "kernel/emulate/work_cost.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "kernel/emulate/warp.h"

namespace kw {
namespace {

// Opcodes whose lanes are computed one by one, or by many steps each.
constexpr std::array<std::string_view, 12> dear_opcodes = {"div", "rem", "sqrt", "rsqrt", "rcp", "sin",
                                                           "cos", "ex2", "lg2",  "tanh",  "cvt", "testp"};
constexpr std::array<std::string_view, 4> exchange_opcodes = {"shfl", "vote", "activemask", "elect"};
constexpr std::uint64_t fragment_element = 5, product_third = 2;

template <std::size_t count>
bool any_of(const std::array<std::string_view, count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Fragments are gathered and scattered element by element; a lane may hold an element that others hold too.
std::uint64_t matrix_units(const MatrixOperation& matrix) {
  const std::uint64_t registers =
      matrix.registers_a.size() + matrix.registers_b.size() + matrix.registers_c.size() + matrix.registers_d.size();
  const std::uint64_t products = std::uint64_t{matrix.m} * matrix.n * matrix.k;
  return work_cost::exchange_instruction + registers * warp_lanes * 2 * fragment_element + products / product_third;
}

}  // namespace

std::uint16_t instruction_units(const FunctionCode& function, const Instruction& instruction,
                                const PtxInstruction& source) {
  const std::string& opcode = source.opcode;
  std::uint64_t units = work_cost::simple_instruction;
  if ((opcode == "mma" || opcode == "wmma") && instruction.flow == Flow::warp_sync) {
    const MatrixOperation& matrix = function.matrices[instruction.detail];
    const bool product = matrix.kind == MatrixOperation::Kind::mma || matrix.kind == MatrixOperation::Kind::wmma;
    units = product ? matrix_units(matrix) : work_cost::matrix_memory_instruction;
  } else if (opcode == "ldmatrix" || opcode == "stmatrix") {
    units = work_cost::matrix_memory_instruction;
  } else if (any_of(dear_opcodes, opcode)) {
    units = work_cost::dear_instruction;
  } else if (opcode == "match" || opcode == "redux") {
    units = work_cost::match_instruction;
  } else if (any_of(exchange_opcodes, opcode)) {
    units = work_cost::exchange_instruction;
  } else if (opcode == "ld" || opcode == "ldu" || opcode == "st") {
    units = work_cost::memory_instruction;
  } else if (opcode == "call" || opcode == "ret") {
    units = work_cost::call;
  }
  return static_cast<std::uint16_t>(std::min<std::uint64_t>(units, 0xffff));
}

std::uint64_t block_units(const LaunchState& launch) {
  const FunctionCode& kernel = launch.program->functions[0];
  // The marks of what is undefined: of each register, of shared memory, of local memory.
  const std::uint64_t warp = work_cost::warp + kernel.initially_undefined.size() + kernel.predicates / 4 +
                             kernel.specials.size() * warp_lanes / 2 + kernel.local_addresses.size() * warp_lanes / 2 +
                             byte_units(std::uint64_t{kernel.local_bytes} * warp_lanes);
  return work_cost::block + launch.warps * warp + launch.shared_bytes / 8;
}

std::uint64_t launch_units(const LaunchState& launch) {
  const Program& program = *launch.program;
  // Two entries a word, to see races: made when somebody touches an allocation, by several host threads perhaps. The
  // price must not depend on their number.
  std::uint64_t race_bytes = 0;
  if (launch.options.look_for_races && !launch.options.profiling)
    for (const auto& allocation : launch.memory->allocations())
      if (!allocation->freed && allocation->defined != nullptr) race_bytes += 2 * std::uint64_t{allocation->bytes};
  return work_cost::launch + program.origins.size() * 4 + program.inline_caches * 40 +
         launch.memory->allocations().size() * 32 + byte_units(launch.parameters.size()) + byte_units(race_bytes);
}

bool pay(Worker& worker) {
  WorkBudget* budget = worker.launch->options.budget;
  UnpaidWork work = std::exchange(worker.unpaid, {});
  if (budget == nullptr) return true;
  // Prices are those of checked runs; matrix products cost the same without checks.
  const auto& functions = worker.launch->program->functions;
  const bool products = std::any_of(functions.begin(), functions.end(),
                                    [](const FunctionCode& function) { return !function.matrices.empty(); });
  if (!worker.launch->options.look_for_races && !products) work.units /= 2;
  // What exceeds the budget by a little was done all the same: only what comes next is refused.
  const bool paid = budget->charge(WorkKind::blocks, work.blocks, work.block_units) &&
                    budget->charge(WorkKind::instructions, work.instructions, work.units);
  if (!paid && worker.stop == StopReason::none) worker.stop = StopReason::judgement_budget;
  return paid;
}

}  // namespace kw
