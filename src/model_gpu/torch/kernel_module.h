#pragma once
// Our own kernels, loaded into torch's context and launched on torch's current stream. Failures are thrown, as torch's
// own are, and become an Error at the library's border.

#include <cuda.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "gpu/driver.h"

namespace kw {

struct LaunchShape {
  std::array<std::int64_t, 3> grid{1, 1, 1};
  int threads = 1;
  std::int64_t shared_bytes = 0;
};

class KernelModule {
 public:
  explicit KernelModule(const std::string& cubin);
  KernelModule(const KernelModule&) = delete;
  KernelModule& operator=(const KernelModule&) = delete;

  // Arguments have exactly the types of the kernel's parameters: pointers, int, float, std::uint64_t.
  template <class... Arguments>
  void launch(std::string_view kernel, const LaunchShape& shape, Arguments... arguments) const {
    void* addresses[] = {static_cast<void*>(&arguments)...};
    launch_with(kernel, shape, addresses);
  }

 private:
  void launch_with(std::string_view kernel, const LaunchShape& shape, void** arguments) const;

  const Driver& driver_;
  CUmodule module_ = nullptr;  // never unloaded: the context outlives us
  mutable std::map<std::string, CUfunction, std::less<>> functions_;
};

}  // namespace kw
