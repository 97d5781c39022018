#pragma once
// For tests: the model's CUDA kernels, compiled to PTX and run by the emulator on copies of CPU tensors.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "kernel/emulate/emulator.h"
#include "model/gpu/kernel_build.h"
#include "model/gpu/torch/kernel_module.h"
#include "model/gpu/torch/torch_headers.h"

namespace kw {

// Addresses of tensors, in an array of the device; undefined: 0.
struct AddressArray {
  std::vector<at::Tensor> tensors;
};

class EmulatedKernels {
 public:
  static const LoadedModule& module() {
    static const LoadedModule loaded = [] {
      auto ptx = model_kernel_ptx();
      if (!ptx.ok()) throw std::runtime_error(to_string(ptx.error()));
      auto module = LoadedModule::load(*ptx, "model.cu");
      if (!module.ok()) throw std::runtime_error(to_string(module.error()));
      return std::move(module).value();
    }();
    return loaded;
  }

  // Tensors are passed by address and hold the result afterwards; an undefined tensor is a null pointer.
  template <class... Arguments>
  static void run(const std::string& kernel, std::array<std::uint32_t, 3> grid, std::uint32_t threads,
                  std::uint32_t shared_bytes, Arguments... arguments) {
    DeviceMemory memory;
    LaunchArguments launch;
    launch.kernel = kernel;
    launch.grid = grid;
    launch.block = {threads, 1, 1};
    launch.dynamic_shared_bytes = shared_bytes;
    std::vector<std::pair<at::Tensor, std::uint64_t>> copied;
    const auto place = [&](const at::Tensor& tensor) -> std::uint64_t {
      if (!tensor.defined()) return 0;
      EXPECT_TRUE(tensor.is_contiguous());
      // The same tensor twice is the same memory.
      for (const auto& [other, address] : copied) {
        if (other.data_ptr() == tensor.data_ptr()) return address;
      }
      const auto address = memory.allocate(tensor.nbytes(), "tensor", MemoryAccessRight::read_write).value();
      EXPECT_TRUE(memory.write(address, {static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()}).ok());
      copied.emplace_back(tensor, address);
      return address;
    };
    const auto add = [&](auto argument) {
      if constexpr (std::is_same_v<decltype(argument), at::Tensor>) {
        launch.parameters.push_back(bytes_of(place(argument)));
      } else if constexpr (std::is_same_v<decltype(argument), AddressArray>) {
        std::string addresses;
        for (const at::Tensor& tensor : argument.tensors) addresses += bytes_of(place(tensor));
        const auto array = memory.allocate(addresses.size(), "addresses", MemoryAccessRight::read_only).value();
        EXPECT_TRUE(memory.write(array, addresses).ok());
        launch.parameters.push_back(bytes_of(array));
      } else {
        launch.parameters.push_back(bytes_of(argument));
      }
    };
    (add(arguments), ...);
    const auto result = module().run(memory, launch);
    ASSERT_TRUE(result.ok()) << to_string(result.error());
    std::string findings = result->unsupported;
    for (const auto& finding : result->findings) findings += "\n" + finding.message;
    ASSERT_EQ(result->status, RunStatus::ok) << kernel << ": " << name_of(result->status) << findings;
    for (auto& [tensor, address] : copied) {
      const std::string bytes = memory.read(address, tensor.nbytes()).value();
      std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
    }
  }

 private:
  template <class T>
  static std::string bytes_of(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }
};

// In the place of the GPU's: Operations, trainer and decoder launch their kernels as they would there, on CPU tensors.
// Whole storages are copied in and out, so tensors may overlap as they like. Kernels that read addresses from memory
// (low_rank_rows) cannot be launched so.
class EmulatedLauncher final : public KernelLauncher {
 public:
  void launch(std::string_view kernel, const LaunchShape& shape,
              std::initializer_list<KernelArgument> arguments) const override {
    DeviceMemory memory;
    LaunchArguments launch;
    launch.kernel = kernel;
    for (std::size_t i = 0; i < 3; ++i) launch.grid[i] = static_cast<std::uint32_t>(shape.grid[i]);
    launch.block = {static_cast<std::uint32_t>(shape.threads), 1, 1};
    launch.dynamic_shared_bytes = static_cast<std::uint32_t>(shape.shared_bytes);
    struct Copied {
      char* host;
      std::size_t bytes;
      std::uint64_t device;
    };
    std::vector<Copied> storages;
    for (const KernelArgument& argument : arguments) {
      std::uint64_t bits = argument.bits;
      if (argument.tensor != nullptr && argument.tensor->defined()) {
        auto* host = static_cast<char*>(argument.tensor->storage().mutable_data());
        const std::size_t bytes = argument.tensor->storage().nbytes();
        auto found = std::ranges::find(storages, host, &Copied::host);
        if (found == storages.end()) {
          const auto device = memory.allocate(bytes, "storage", MemoryAccessRight::read_write).value();
          EXPECT_TRUE(memory.write(device, {host, bytes}).ok());
          found = storages.insert(storages.end(), {host, bytes, device});
        }
        bits = found->device + static_cast<std::uint64_t>(static_cast<char*>(argument.tensor->data_ptr()) - host);
      }
      launch.parameters.emplace_back(reinterpret_cast<const char*>(&bits), static_cast<std::size_t>(argument.bytes));
    }
    const auto result = EmulatedKernels::module().run(memory, launch);
    if (!result.ok()) throw std::runtime_error(std::string(kernel) + ": " + to_string(result.error()));
    if (result->status != RunStatus::ok) {
      std::string text = std::string(kernel) + ": " + std::string(name_of(result->status)) + result->unsupported;
      for (const auto& finding : result->findings) text += "\n" + finding.message;
      throw std::runtime_error(text);
    }
    for (const Copied& storage : storages) {
      const std::string bytes = memory.read(storage.device, storage.bytes).value();
      std::memcpy(storage.host, bytes.data(), bytes.size());
    }
    launched.insert(std::string(kernel));
  }

  mutable std::set<std::string> launched;
};

}  // namespace kw
