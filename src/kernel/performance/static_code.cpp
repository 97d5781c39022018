#include "kernel/performance/static_code.h"

#include <algorithm>
#include <string_view>

#include "kernel/emulate/operations.h"

namespace kw {
namespace {

bool has_word(std::string_view form, std::string_view word) {
  for (std::size_t at = form.find(word); at != std::string_view::npos; at = form.find(word, at + 1)) {
    const bool begins = at == 0 || form[at - 1] == '.';
    const std::size_t end = at + word.size();
    if (begins && (end == form.size() || form[end] == '.')) return true;
  }
  return false;
}

bool is_float(std::string_view form) {
  for (std::string_view type : {"f16", "f16x2", "bf16", "bf16x2", "tf32", "f32", "f64"})
    if (has_word(form, type)) return true;
  return false;
}

// The width of an integer instruction's result.
bool wide_result(std::string_view form) {
  if (has_word(form, "wide")) return true;
  if (form.starts_with("cvta")) return true;
  if (form.starts_with("cvt.")) {
    const std::size_t last = form.rfind('.');
    form = form.substr(0, last);
  }
  return form.ends_with("64");
}

using Operator = LoopCondition::Operator;

Operator opposite(Operator op) {
  switch (op) {
    case Operator::less:
      return Operator::greater_equal;
    case Operator::less_equal:
      return Operator::greater;
    case Operator::greater:
      return Operator::less_equal;
    case Operator::greater_equal:
      return Operator::less;
    case Operator::equal:
      return Operator::not_equal;
    case Operator::not_equal:
      return Operator::equal;
  }
  return op;
}

std::optional<LoopCondition> comparison(const Instruction& in, std::string_view form) {
  if (in.run != run_compare || is_float(form)) return std::nullopt;
  std::optional<Operator> op;
  for (const auto& [word, meaning] : {std::pair{"lt", Operator::less},
                                      {"lo", Operator::less},
                                      {"le", Operator::less_equal},
                                      {"ls", Operator::less_equal},
                                      {"gt", Operator::greater},
                                      {"hi", Operator::greater},
                                      {"ge", Operator::greater_equal},
                                      {"hs", Operator::greater_equal},
                                      {"eq", Operator::equal},
                                      {"ne", Operator::not_equal}})
    if (has_word(form, word)) op = meaning;
  if (!op) return std::nullopt;
  LoopCondition condition;
  condition.op = *op;
  condition.a = in.source[0];
  condition.b = in.source[1];
  condition.wide = form.ends_with("64");
  condition.is_signed = !form.ends_with("u32") && !form.ends_with("u64");
  return condition;
}

std::optional<LoopCondition> condition_of(const Program& program, const FunctionCode& function, std::uint32_t first,
                                          std::uint32_t branch) {
  const Instruction& jump = function.code[branch];
  if (jump.guard == no_predicate) return std::nullopt;
  for (std::uint32_t pc = branch; pc-- > first;) {
    const Instruction& in = function.code[pc];
    if (in.predicate_out != jump.guard) continue;
    if (in.guard != no_predicate) return std::nullopt;
    std::optional<LoopCondition> condition = comparison(in, program.origins[in.origin].form);
    if (condition && jump.guard_negated) condition->op = opposite(condition->op);
    if (condition && condition->op == Operator::equal) return std::nullopt;
    return condition;
  }
  return std::nullopt;
}

std::vector<LoopRegister> counted_registers(const Program& program, const FunctionCode& function, std::uint32_t first,
                                            std::uint32_t branch) {
  std::vector<LoopRegister> found;
  for (std::uint32_t pc = first; pc < branch; ++pc) {
    const Instruction& in = function.code[pc];
    const bool arithmetic = in.lane != nullptr || in.run == run_move_32 || in.run == run_move_64;
    if (!arithmetic || in.destination == no_slot) continue;
    const std::string_view form = program.origins[in.origin].form;
    const LoopRegister written{in.destination, wide_result(form)};
    std::erase_if(found, [&](const LoopRegister& other) { return other.slot == written.slot; });
    if (!is_float(form)) found.push_back(written);
  }
  return found;
}

// Multiply-adds of one warp-wide matrix product, in units of the fp16 rate.
double tensor_work(const MatrixOperation& matrix, const DeviceProfile& profile) {
  const double products = static_cast<double>(matrix.m) * matrix.n * matrix.k;
  double rate = 1;
  if (matrix.a == PtxType::tf32 || matrix.a == PtxType::f32) rate = profile.tensor_tf32_rate;
  if (matrix.a == PtxType::s8 || matrix.a == PtxType::u8) rate = profile.tensor_int8_rate;
  // Without double-precision tensor units the products go through the ordinary ones.
  if (matrix.a == PtxType::f64)
    rate = profile.tensor_fp64_rate > 0 ? profile.tensor_fp64_rate
                                        : profile.lanes_per_cycle[static_cast<std::size_t>(Pipe::fp64)] /
                                              profile.lanes_per_cycle[static_cast<std::size_t>(Pipe::tensor)];
  return products / rate;
}

struct Numbering {
  std::uint32_t first_register;
  std::uint32_t first_predicate;

  void add(std::vector<std::uint32_t>& list, Slot slot) const {
    if (slot != no_slot) list.push_back(first_register + slot / slot_bytes);
  }
  void add_predicate(std::vector<std::uint32_t>& list, std::int32_t predicate) const {
    if (predicate != no_predicate) list.push_back(first_predicate + static_cast<std::uint32_t>(predicate));
  }
};

void add_registers(StaticInstruction& out, const Instruction& in, const FunctionCode& function,
                   const Numbering& number) {
  number.add_predicate(out.reads, in.guard);
  number.add_predicate(out.reads, in.predicate_in);
  number.add_predicate(out.writes, in.predicate_out);
  number.add_predicate(in.run == run_predicate_logic ? out.reads : out.writes, in.predicate_other);
  const int sources = in.lane != nullptr ? in.sources : 4;
  for (int i = 0; i < sources; ++i) number.add(out.reads, in.source[i]);
  number.add(out.writes, in.destination);
  auto parts = [&](const MemoryAccess& access, std::vector<std::uint32_t>& list) {
    for (int k = 0; k < access.elements; ++k) number.add(list, access.parts[k]);
  };
  if (in.run == run_load || in.run == run_load_parameter || in.run == run_unpack)
    parts(function.memory[in.detail], out.writes);
  if (in.run == run_store || in.run == run_pack) parts(function.memory[in.detail], out.reads);
  const bool matrix_load = in.run == run_ldmatrix || in.run == run_wmma_load;
  const bool matrix_store = in.run == run_stmatrix || in.run == run_wmma_store;
  if (in.run == run_mma || in.run == run_wmma || matrix_load || matrix_store) {
    const MatrixOperation& matrix = function.matrices[in.detail];
    for (const auto* list : {&matrix.registers_a, &matrix.registers_b, &matrix.registers_c})
      for (Slot slot : *list) number.add(out.reads, slot);
    for (Slot slot : matrix.registers_d) number.add(matrix_store ? out.reads : out.writes, slot);
  }
}

void classify(StaticInstruction& out, const Instruction& in, const FunctionCode& function, std::string_view form) {
  out.barrier = in.flow == Flow::barrier;
  out.copy_commit = in.run == run_copy_commit;
  out.copy_wait = in.run == run_copy_wait;
  const bool matrix_load = in.run == run_ldmatrix || in.run == run_wmma_load;
  out.store = in.run == run_store || in.run == run_stmatrix || in.run == run_wmma_store;
  const bool atomic = in.run == run_atomic;
  out.plain_load = in.run == run_load || matrix_load;
  out.memory = out.plain_load || out.store || atomic || in.run == run_copy_async;
  out.ordered_load = out.memory && !out.store;
  if (in.run == run_load && function.memory[in.detail].read_only_path) out.ordered_load = false;
  for (const std::string_view word : {"volatile", "relaxed", "acquire", "mmio", "cv", "cg"})
    out.past_l1 |= in.run == run_load && has_word(form, word);
  out.float_atomic = atomic && is_float(form);
}

// Correctly rounded division and roots test for rare operands and call a subroutine for them.
bool ends_in_call(std::string_view form) {
  const bool rounded = has_word(form, "rn") || form.ends_with("64");
  return rounded && (form.starts_with("div.") || form.starts_with("rcp.") || form.starts_with("sqrt.") ||
                     form.starts_with("rem."));
}

// Whether ptxas unrolls a loop: one basic block, not too long, counted in steps that are known. The rule is read off
// the machine code of the suite's kernels, where nearly all such loops are unrolled; naive matmul_f16 and col_cumsum
// are exceptions. How long a loop is counts in machine instructions: one with four ex2.approx, which are four each,
// stays as it is where one of as many PTX instructions is unrolled.
bool is_unrolled(const FunctionCode& function, const std::vector<bool>& leader, const Loop& loop, std::uint32_t first,
                 std::uint32_t branch, double machine_instructions) {
  constexpr double most_instructions = 39;
  if (!loop.condition || machine_instructions > most_instructions) return false;
  for (std::uint32_t pc = first + 1; pc <= branch; ++pc)
    if (leader[pc]) return false;
  if (std::count(function.not_unrolled.begin(), function.not_unrolled.end(), first) != 0) return false;
  auto constant = [&](Slot slot) {
    return std::any_of(function.constants.begin(), function.constants.end(),
                       [&](const ConstantSlot& each) { return each.slot == slot; });
  };
  for (std::uint32_t pc = first; pc < branch; ++pc) {
    const Instruction& in = function.code[pc];
    const bool counter = in.destination != no_slot &&
                         (in.destination == loop.condition->a || in.destination == loop.condition->b) &&
                         in.predicate_out == no_predicate;
    if (counter && !constant(in.source[0]) && !constant(in.source[1])) return false;
  }
  return true;
}

// Where basic blocks begin, as ptxas leaves them.
struct Blocks {
  std::vector<bool> leader;
  std::vector<bool> predicated;  // by branch

  Blocks(const Program& program, const FunctionCode& function)
      : leader(function.code.size() + 1, false), predicated(function.code.size() + 1, false) {
    const std::vector<Instruction>& code = function.code;
    std::vector<int> entries(code.size() + 1, 0);  // branches to each place
    for (std::uint32_t pc = 0; pc < code.size(); ++pc) {
      if (code[pc].flow == Flow::branch && code[pc].target < entries.size()) ++entries[code[pc].target];
      const bool call = ends_in_call(program.origins[code[pc].origin].form);
      if (call || (code[pc].flow != Flow::next && code[pc].flow != Flow::warp_sync)) leader[pc + 1] = true;
    }
    for (const auto& table : function.branch_tables)
      for (std::uint32_t target : table)
        if (target < entries.size()) ++entries[target];
    // From the end, so that branches inside what another one skips come first.
    for (std::uint32_t pc = static_cast<std::uint32_t>(code.size()); pc-- > 0;) {
      if (!skips_little(code, entries, pc)) continue;
      predicated[pc] = true;
      leader[pc + 1] = false;
      --entries[code[pc].target];
    }
    for (std::uint32_t pc = 0; pc < entries.size(); ++pc)
      if (entries[pc] > 0) leader[pc] = true;
  }

 private:
  // A branch forward over a few instructions that nothing else jumps to.
  bool skips_little(const std::vector<Instruction>& code, const std::vector<int>& entries, std::uint32_t pc) const {
    constexpr std::uint32_t most_instructions = 12;
    const Instruction& in = code[pc];
    if (in.flow != Flow::branch || in.guard == no_predicate || in.target <= pc || in.target >= code.size() ||
        in.target - pc - 1 > most_instructions)
      return false;
    for (std::uint32_t at = pc + 1; at < in.target; ++at)
      if (entries[at] > 0 || (leader[at + 1] && at + 1 < in.target) || (code[at].flow != Flow::next && !predicated[at]))
        return false;
    return true;
  }
};

// Comparisons belong to the innermost loop around them.
void add_watched_compares(StaticCode& code) {
  for (std::uint32_t number = 0; number < code.instructions.size(); ++number) {
    StaticInstruction& known = code.instructions[number];
    const auto condition = comparison(*known.instruction, code.program->origins[known.origin].form);
    if (!condition) continue;
    Loop* innermost = nullptr;
    for (Loop& loop : code.loops)
      if (loop.first <= number && number <= loop.branch &&
          (innermost == nullptr || loop.branch - loop.first < innermost->branch - innermost->first))
        innermost = &loop;
    if (innermost == nullptr || innermost->condition) continue;
    known.compare = static_cast<std::int32_t>(code.compares.size());
    innermost->compares.push_back(static_cast<std::uint32_t>(code.compares.size()));
    code.compares.push_back(*condition);
  }
}

}  // namespace

StaticCode read_code(const Program& program, const DeviceProfile& profile) {
  StaticCode code;
  code.program = &program;
  for (const FunctionCode& function : program.functions) {
    const auto base = static_cast<std::uint32_t>(code.instructions.size());
    code.first_of.emplace(&function, base);
    const Numbering number{code.registers, code.registers + function.file_bytes / slot_bytes + 2};
    code.registers = number.first_predicate + function.predicates + 1;
    const Blocks blocks(program, function);
    for (std::uint32_t pc = 0; pc < function.code.size(); ++pc) {
      const Instruction& in = function.code[pc];
      const std::string_view form = program.origins[in.origin].form;
      const InstructionCost& cost = profile.cost_of(form);
      StaticInstruction out;
      out.instruction = &in;
      out.function = &function;
      out.origin = in.origin;
      out.pipe = cost.pipe;
      out.issue_slots = cost.issue_slots;
      out.latency_cycles = cost.latency_cycles;
      out.starts_region = blocks.leader[pc];
      out.predicated = blocks.predicated[pc];
      const bool product = in.run == run_mma || in.run == run_wmma;
      const double work = product ? tensor_work(function.matrices[in.detail], profile) : warp_lanes;
      out.pipe_lanes = cost.pipe_slots * work;
      classify(out, in, function, form);
      add_registers(out, in, function, number);
      if (in.flow == Flow::branch && in.target <= pc) {
        Loop loop;
        loop.first = base + in.target;
        loop.branch = base + pc;
        loop.condition = condition_of(program, function, in.target, pc);
        loop.integers = counted_registers(program, function, in.target, pc);
        double machine_instructions = 0;  // the branch left out
        for (std::uint32_t at = in.target; at < pc; ++at)
          machine_instructions += code.instructions[base + at].issue_slots;
        if (is_unrolled(function, blocks.leader, loop, in.target, pc, machine_instructions)) {
          out.unrolled_loop = true;
          (in.target == pc ? out : code.instructions[base + in.target]).unrolled_loop = true;
        }
        out.loop = static_cast<std::int32_t>(code.loops.size());
        code.loops.push_back(std::move(loop));
      }
      code.barriers |= out.barrier;
      code.instructions.push_back(std::move(out));
    }
  }
  add_watched_compares(code);
  return code;
}

}  // namespace kw
