// Modules, their functions and their variables.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "kernel/emulated_driver/state.h"

namespace kw::emulated_driver {
namespace {

constexpr std::string_view elf_magic =
    "\x7f"
    "ELF";
constexpr std::string_view fat_binary_magic = "\x50\xed\x55\xba";

// Cubins and fat binaries hold machine code, which the emulator cannot run; anything else is text that ends in a zero.
bool looks_like_ptx(const char* image) {
  if (std::strncmp(image, elf_magic.data(), elf_magic.size()) == 0) return false;
  if (std::strncmp(image, fat_binary_magic.data(), fat_binary_magic.size()) == 0) return false;
  return std::strstr(image, ".version") != nullptr;
}

CUresult invalid_ptx(const Error& error) {
  std::fprintf(stderr, "emulated driver: %s\n", to_string(error).c_str());
  return CUDA_ERROR_INVALID_PTX;
}

// KERNELWRIGHT_EMULATED_NEEDS: a file without which this driver compiles nothing, as a real one needs its libraries.
bool has_what_it_needs() {
  static const char* const file = std::getenv("KERNELWRIGHT_EMULATED_NEEDS");
  return file == nullptr || ::access(file, R_OK) == 0;
}

// All modules are decoded for the same addresses; the window is mapped once and shown to one module at a time.
CUresult fit_variables(Device& device, const CUmod_st& module) {
  if (module.variables.allocations().empty()) return CUDA_SUCCESS;
  const std::uint64_t base = module.variables.allocations().front()->base;
  for (const auto& variable : module.variables.allocations())
    if (variable->base < base || variable->base + variable->bytes > base + variables_window_bytes)
      return CUDA_ERROR_OUT_OF_MEMORY;
  if (device.variables_base == 0) {
    if (!device.memory.map(base, variables_window_bytes, "variables", MemoryAccessRight::read_write).ok() ||
        !device.memory.fill(base, 0, variables_window_bytes).ok())
      return CUDA_ERROR_OUT_OF_MEMORY;
    device.variables_base = base;
  }
  return device.variables_base == base ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

// From one memory into another, at the same addresses.
CUresult move_variables(const DeviceMemory& layout, const DeviceMemory& from, DeviceMemory& to) {
  for (const auto& variable : layout.allocations()) {
    const auto bytes = from.read(variable->base, variable->bytes);
    if (!bytes.ok() || !to.write(variable->base, *bytes).ok()) return CUDA_ERROR_UNKNOWN;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult put_variables_in_place(Device& device, CUmodule module) {
  device.memory.module_id = module->variables.module_id;
  // One without variables leaves those of another where they are: it may have been given their addresses.
  if (device.module_in_place == module || module->variables.allocations().empty()) return CUDA_SUCCESS;
  if (CUmodule before = device.module_in_place; before != nullptr)
    if (const CUresult kept = move_variables(before->variables, device.memory, before->variables); kept != CUDA_SUCCESS)
      return kept;
  device.module_in_place = module;
  return move_variables(module->variables, module->variables, device.memory);
}

}  // namespace kw::emulated_driver

using namespace kw::emulated_driver;

KW_EXPORT CUresult cuModuleLoadData(CUmodule* handle, const void* image) {
  return in_context([&](Device& state) {
    if (handle == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!has_what_it_needs()) return CUDA_ERROR_OPERATING_SYSTEM;
    const auto* text = static_cast<const char*>(image);
    if (!looks_like_ptx(text)) return CUDA_ERROR_INVALID_IMAGE;
    auto loaded = kw::LoadedModule::load(text);
    if (!loaded.ok()) return invalid_ptx(loaded.error());
    auto module = std::make_unique<CUmod_st>(std::move(loaded).value());
    if (const auto placed = module->code.place_variables(module->variables); !placed.ok())
      return invalid_ptx(placed.error());
    if (const CUresult fits = fit_variables(state, *module); fits != CUDA_SUCCESS) return fits;
    for (const std::string& name : module->code.kernels()) {
      const auto program = module->code.program(name);
      if (!program.ok()) return invalid_ptx(program.error());
      const std::uint32_t fixed = (*program)->static_shared_bytes;
      if (fixed > shared_bytes_default) return CUDA_ERROR_INVALID_PTX;  // the assembler's limit
      module->functions.emplace(name, CUfunc_st{module.get(), name, *program, shared_bytes_default - fixed});
    }
    *handle = state.modules.add(std::move(module));
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuModuleUnload(CUmodule module) {
  return in_context([&](Device& state) {
    if (!state.modules.has(module)) return CUDA_ERROR_INVALID_HANDLE;
    if (state.module_in_place == module) state.module_in_place = nullptr;
    state.modules.remove(module);
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return in_context([&](Device& state) {
    if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!state.modules.has(module)) return CUDA_ERROR_INVALID_HANDLE;
    const auto found = module->functions.find(std::string_view(name));
    if (found == module->functions.end()) return CUDA_ERROR_NOT_FOUND;
    *function = &found->second;
    return CUDA_SUCCESS;
  });
}

// The address holds while no other module with variables runs.
KW_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, std::size_t* bytes, CUmodule module, const char* name) {
  return in_context([&](Device& state) {
    if (address == nullptr || bytes == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!state.modules.has(module)) return CUDA_ERROR_INVALID_HANDLE;
    for (const auto& variable : module->variables.allocations()) {
      if (variable->name != std::string("__device__ ") + name) continue;
      *address = variable->base;
      *bytes = variable->bytes;
      return put_variables_in_place(state, module);
    }
    return CUDA_ERROR_NOT_FOUND;
  });
}

KW_EXPORT CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return in_context([&](Device& state) {
    if (!state.has_function(function)) return CUDA_ERROR_INVALID_HANDLE;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_SUCCESS;
    const std::uint32_t most = shared_bytes_optin - function->program->static_shared_bytes;
    if (value < 0 || static_cast<std::uint32_t>(value) > most) return CUDA_ERROR_INVALID_VALUE;
    function->dynamic_shared_limit_bytes = static_cast<std::uint32_t>(value);
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  return in_context([&](Device& state) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!state.has_function(function)) return CUDA_ERROR_INVALID_HANDLE;
    *value = 0;
    if (attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
      *value = static_cast<int>(function->program->static_shared_bytes);
    if (attribute == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
      for (const kw::FunctionCode& code : function->program->functions)  // a call's frame lies beside its caller's
        *value += static_cast<int>(code.local_bytes);
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuFuncLoad(CUfunction function) {
  return in_context(
      [&](Device& state) { return state.has_function(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; });
}
