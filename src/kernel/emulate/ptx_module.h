#pragma once
// A PTX program as text says it: declarations and instructions, names resolved, nothing executed yet. Made by
// ptx_parser.h, turned into executable form by decode.h.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

// The fundamental types of PTX (ISA 9.0, table 9); packed types (f16x2, bf16x2, ...) appear as instruction modifiers
// only.
enum class PtxType : std::uint8_t {
  none,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f64,
  pred
};
int bytes_of(PtxType type);  // 0 for none and pred
std::string_view name_of(PtxType type);
std::optional<PtxType> ptx_type_from_name(std::string_view name);  // "f32", without the dot

enum class PtxSpace : std::uint8_t { none, reg, global, shared, local, constant, param, generic };
std::string_view name_of(PtxSpace space);  // as PTX spells it: "const"

// Where an instruction came from. For code that was inlined from a header the line is the one of the call in the user's
// file; where the compiler gives no line, it is the one before.
struct PtxOrigin {
  std::uint32_t line = 0;  // in the user's file; 0: unknown
  std::uint32_t column = 0;
  std::uint32_t ptx_line = 0;
};

struct PtxVariable {
  std::string name;
  PtxSpace space = PtxSpace::none;
  PtxType type = PtxType::none;
  std::uint32_t alignment = 1;
  std::uint64_t bytes = 0;  // 0 for `extern .shared x[]`: its size comes with the launch
  bool external = false;
  // Bytes; shorter than `bytes`: the rest is zero; empty: zero for global and const, undefined for shared and local.
  std::string initial;
  struct Relocation {  // the address of another symbol, stored at `offset` in the width of `type`
    std::uint64_t offset = 0;
    std::string symbol;
    std::int64_t addend = 0;
    bool generic = false;  // generic(symbol): its generic address, not the one within its state space
    // 0xFF00(symbol): only these bits of the address, shifted down to bit 0.
    std::uint64_t mask = ~std::uint64_t{0};
  };
  std::vector<Relocation> relocations;
};

struct PtxRegister {
  std::string name;  // "%r12"; a name that is declared again in a nested scope is another register of the same name
  PtxType type = PtxType::none;
};

// Operands refer to registers by index into PtxFunction::registers.
struct PtxOperand {
  enum class Kind : std::uint8_t {
    none,
    reg,       // index; name is the part of it that a video instruction selects (`%r1.b0`: "b0"), mostly empty
    integer,   // value (sign-extended 64 bits)
    floating,  // value holds the bits of a double; `single` when written 0f........ (then exactly a float)
    special,   // name: "%tid.x", "%laneid"
    symbol,    // name of a variable or function, plus `value` as an offset: mov.u64 %rd1, sym+4
    address,   // [base + value]: base is a register (index >= 0) or a symbol (name) or absolute (neither);
               // parts: what follows the base of a tensor access, `[map, {%r1, %r2}]`
    vector,    // {%f1, %f2, _, 0f00000000}: parts
    label,     // index of the instruction it points at
    sink,      // _
  };
  Kind kind = Kind::none;
  bool negated = false;  // !%p1 as a source predicate, or -%r1
  bool single = false;
  int index = -1;
  std::int64_t value = 0;
  std::string name;
  std::vector<PtxOperand> parts;

  // Of a floating operand: the bits of the float, exactly as written for 0f........ (a conversion in C++ would quiet a
  // signalling NaN), rounded to nearest otherwise.
  std::uint32_t single_bits() const;
  double as_double() const;  // of a floating operand
};

struct PtxInstruction {
  std::string opcode;                  // "ld", "setp", "wmma"
  std::vector<std::string> modifiers;  // in order, without dots: {"global", "nc", "v4", "f32"}
  int guard = -1;                      // predicate register index of @%p; -1: none
  bool guard_negated = false;
  std::vector<PtxOperand> operands;  // destination first. setp's "%p1|%p2" is two operands.
  // call: operands is the callee alone (symbol or register). Values passed are registers, immediates, or symbols that
  // name .param variables of PtxFunction::locals.
  std::vector<PtxOperand> call_returns;
  std::vector<PtxOperand> call_arguments;
  std::vector<int> branch_targets;  // of brx.idx: instruction indices
  PtxOrigin origin;

  bool has(std::string_view modifier) const;
  std::string form() const;  // "ld.global.nc.v4.f32"
  PtxType type() const;      // of the last modifier that is a type; none if there is none
};

struct PtxFunction {
  std::string name;
  bool entry = false;
  bool external = false;                // declared only (vprintf, malloc, ...)
  std::string alias_of;                 // `.alias name, alias_of;`: this one has no body of its own
  std::vector<PtxVariable> parameters;  // space param (reg: the old convention, also one of `registers`)
  std::vector<PtxVariable> returns;
  std::vector<PtxRegister> registers;
  // .local, .shared and .param variables (rarely .global or .const) declared in the body. Names are unique: a name that
  // is declared again, in another scope, becomes "name#1", and operands say so too. To look a name up: locals,
  // parameters, returns, then the module's variables and functions.
  std::vector<PtxVariable> locals;
  // Never empty unless external or an alias; the last instruction never falls through: a `ret` is added where needed,
  // so labels and branches always point at an instruction.
  std::vector<PtxInstruction> body;
  std::vector<std::uint32_t> not_unrolled;   // `.pragma "nounroll"` stands before these: loops that begin here
  std::uint32_t max_threads[3] = {0, 0, 0};  // .maxntid
  std::uint32_t required_threads[3] = {0, 0, 0};
  std::uint32_t min_blocks_per_sm = 0;  // .minnctapersm
  std::uint32_t max_registers = 0;      // .maxnreg
};

struct PtxModule {
  std::string target;                  // "sm_80"
  std::string version;                 // "9.0"
  std::vector<PtxVariable> variables;  // module scope
  std::vector<PtxFunction> functions;

  const PtxFunction* find_function(std::string_view name) const;
  const PtxVariable* find_variable(std::string_view name) const;
};

}  // namespace kw
