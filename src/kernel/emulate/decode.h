#pragma once
// PTX to executable form, once for each kernel. An instruction that is not known does not fail the kernel: it becomes
// an instruction that ends the run with the verdict `unsupported` when a thread reaches it.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/work_budget.h"
#include "kernel/emulate/program.h"
#include "kernel/emulate/ptx_module.h"

namespace kw {

// Where the variables of a module lie; the same for all of its kernels.
struct ModuleLayout {
  struct Place {
    std::uint64_t address = 0;
    const PtxVariable* variable = nullptr;
  };
  std::map<std::string, Place, std::less<>> variables;  // global and constant space
  std::map<std::string, std::uint32_t, std::less<>>
      functions;  // index into PtxModule::functions; the address follows from it
};

Result<ModuleLayout> lay_out_module(const PtxModule& module);
inline constexpr std::uint64_t function_address(std::uint32_t index) {
  return window_base(Window::code) + (index + 1) * code_address_step;
}

// Time and memory are charged to the budget, if there is one; the memory is not given back before its end.
Result<Program> decode_kernel(const PtxModule& module, const ModuleLayout& layout, std::string_view kernel,
                              WorkBudget* budget = nullptr);

}  // namespace kw
