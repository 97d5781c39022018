// What usually helps against the most frequent messages of the CUDA compiler.
#include "kernel/compile/diagnostics.h"
#include "kernel/compile/headers.h"

namespace kw {
namespace {

struct Advice {
  std::string_view first;  // both have to be in the message
  std::string_view second;
  std::string_view text;
};

constexpr Advice table[] = {
    {"the compiler itself", "on this source",
     "the source may be right or wrong, the compiler did not get to say: leave out or rewrite parts until it compiles, "
     "first what nests deeply (templates, lambdas, macros, brackets), then unusual declarations and inline PTX"},
    {"the compiler needed more than the allowed", "", "instantiate, unroll or initialise less"},
    {"the compiler was stopped after", "", "instantiate or unroll less, or split the kernel"},
    {"the compiler wrote more than the allowed", "", "initialise large arrays in a kernel, not in the source"},
    {"identifier \"cudaMalloc", "", "allocate in the launcher, not in device code"},
    {"identifier \"__half", "is undefined", "add #include <cuda_fp16.h>"},
    {"identifier \"half", "is undefined", "add #include <cuda_fp16.h>"},
    {"identifier \"__nv_bfloat16", "is undefined", "add #include <cuda_bf16.h>"},
    {"identifier \"__nv_fp8", "is undefined", "add #include <cuda_fp8.h>"},
    {"\"wmma\"", "", "add #include <mma.h> and `using namespace nvcuda;`"},
    {"\"nvcuda\"", "", "add #include <mma.h>"},
    {"\"cooperative_groups\"", "", "add #include <cooperative_groups.h>"},
    {"\"cg\"", "", "add #include <cooperative_groups.h> and `namespace cg = cooperative_groups;`"},
    {"identifier \"FLT_", "is undefined", "add #include <cfloat>"},
    {"identifier \"INT_M", "is undefined", "add #include <climits>"},
    {"identifier \"uint", "is undefined", "add #include <cstdint>"},
    {"identifier \"int", "is undefined", "add #include <cstdint>"},
    {"identifier \"M_PI", "is undefined", "add #include <cmath>"},
    {"namespace \"std\" has no member", "",
     "most of the C++ standard library is not there in device code; <cuda/std/...> has device versions"},
    {"identifier", "is undefined",
     "declare it before its first use, check the spelling, or include the header that declares it"},
    {"expected a \";\"", "", "look at the end of the statement before this one"},
    {"expected a declaration", "", "a brace closes too early, or a statement stands outside any function"},
    {"expected a \"}\"", "", "a brace is not closed"},
    {"expected a \")\"", "", "a bracket is not closed"},
    {"expected an expression", "", "an operand is missing here"},
    {"no instance of overloaded function", "", "the argument types fit none of the overloads; cast them to one type"},
    {"no instance of function template", "", "the template arguments cannot be deduced; write them out"},
    {"more than one instance of overloaded function", "", "cast the arguments to one type"},
    {"no operator", "matches these operands",
     "convert both sides to a type that has the operator (for __half and __nv_bfloat16: to float)"},
    {"no suitable conversion function", "",
     "convert explicitly: __half2float, __float2half, __bfloat162float, static_cast"},
    {"no suitable constructor", "", "convert explicitly: __float2half, __float2bfloat16, static_cast"},
    {"calling a __host__ function", "", "mark the function __device__"},
    {"is not allowed in device code", "", "use what exists on the device, or move it to the launcher"},
    {"too few arguments in function call", "", "compare the call with the declaration"},
    {"too many arguments in function call", "", "compare the call with the declaration"},
    {"must be a constant", "", "use constexpr, a template parameter or a #define"},
    {"expression must have a constant value", "",
     "use constexpr, a template parameter or a #define; for sizes known at launch use extern __shared__"},
    {"expression must be a modifiable lvalue", "", "the target is const or not assignable"},
    {"incompatible with parameter of type", "", "the argument's type does not fit; cast it, or drop or add const"},
    {"cannot be used to initialize an entity of type", "", "the types differ; cast, or drop or add const"},
    {"has already been declared", "", "rename one of the two"},
    {"has already been defined", "", "define it once, or rename one of the two"},
    {"uses too much shared data", "",
     "make the __shared__ arrays smaller (48 KiB for static ones), or use extern __shared__ with "
     "cudaFuncSetAttribute(..., cudaFuncAttributeMaxDynamicSharedMemorySize, ...)"},
    {"too much parameter space", "", "kernel parameters are limited to 4 KiB (32 KiB from sm_70 on); pass a pointer"},
    {"uses too much local data", "", "the arrays of one thread are too large; use global scratch memory"},
    {"uses too much global constant data", "",
     "__constant__ memory is limited to 64 KiB; use a const pointer to global memory"},
    {"Unresolved extern function", "", "define the function in this file; there is no separate linking"},
    {"Unresolved extern variable", "", "define the variable in this file"},
    {"Not a name of any known instruction", "", "correct the inline PTX"},
    {"requires .target", "", "this architecture lacks the instruction; use another, or another architecture"},
    {"not supported on .target", "", "this architecture lacks the instruction; use another, or another architecture"},
    {"static assertion failed", "", "the condition of this static_assert does not hold for these template arguments"},
    {"name followed by \"::\" must be a class or namespace name", "",
     "include the header that declares the name space, or correct its spelling"},
    {"was declared but never referenced", "", "remove it"},
    {"variable", "is used before its value is set", "give it an initial value"},
    {"recursive template instantiation", "", "the template has no end; add a specialisation that stops it"},
    {"excessive recursion", "", "the template or constexpr function has no end"},
};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

std::string advice_for(std::string_view message) {
  if (contains(message, "open source file")) return "these headers are known: " + well_known_headers();
  for (const Advice& advice : table) {
    if (contains(message, advice.first) && contains(message, advice.second)) return std::string(advice.text);
  }
  return {};
}

}  // namespace kw
