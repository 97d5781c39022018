#pragma once
// Our own kernels, loaded into torch's context and launched on torch's current stream. Failures are thrown, as torch's
// own are, and become an Error at the library's border.

#include <cuda.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kernel/gpu/driver.h"
#include "model/gpu/torch/torch_headers.h"

namespace kw {

struct LaunchShape {
  std::array<std::int64_t, 3> grid{1, 1, 1};
  int threads = 1;
  std::int64_t shared_bytes = 0;
};

// A tensor (its address; null where it is undefined) or a number, of exactly the type of the kernel's parameter.
struct KernelArgument {
  KernelArgument(const at::Tensor& given) : tensor(&given), bits(0) {
    void* address = given.defined() ? given.data_ptr() : nullptr;
    std::memcpy(&bits, &address, sizeof address);
  }
  KernelArgument(int number) : bits(0) { std::memcpy(&bits, &number, sizeof number); }
  KernelArgument(float number) : bits(0), bytes(4) { std::memcpy(&bits, &number, sizeof number); }
  KernelArgument(std::uint64_t number) : bits(number), bytes(8) {}

  const at::Tensor* tensor = nullptr;
  std::uint64_t bits;
  int bytes = tensor != nullptr ? 8 : 4;
};

class KernelLauncher {
 public:
  virtual ~KernelLauncher() = default;
  virtual void launch(std::string_view kernel, const LaunchShape& shape,
                      std::initializer_list<KernelArgument> arguments) const = 0;
};

class KernelModule final : public KernelLauncher {
 public:
  explicit KernelModule(const std::string& cubin);
  KernelModule(const KernelModule&) = delete;
  KernelModule& operator=(const KernelModule&) = delete;

  void launch(std::string_view kernel, const LaunchShape& shape,
              std::initializer_list<KernelArgument> arguments) const override;

 private:
  const Driver& driver_;
  CUmodule module_ = nullptr;  // never unloaded: the context outlives us
  mutable std::map<std::string, CUfunction, std::less<>> functions_;
};

}  // namespace kw
