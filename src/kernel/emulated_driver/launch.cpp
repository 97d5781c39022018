// Launching kernels: what the driver refuses, and the parameters' values.

#include <algorithm>
#include <array>

#include "kernel/emulated_driver/state.h"

namespace kw::emulated_driver {
namespace {

std::uint64_t product(const std::array<std::uint32_t, 3>& sizes) {
  return std::uint64_t{sizes[0]} * sizes[1] * sizes[2];
}

CUresult check_shape(const CUfunc_st& function, const LaunchArguments& launch) {
  const auto& [grid_x, grid_y, grid_z] = launch.grid;
  const auto& [block_x, block_y, block_z] = launch.block;
  if (product(launch.grid) == 0 || product(launch.block) == 0) return CUDA_ERROR_INVALID_VALUE;
  if (grid_x > 0x7fffffffu || grid_y > 65535 || grid_z > 65535) return CUDA_ERROR_INVALID_VALUE;
  if (block_x > 1024 || block_y > 1024 || block_z > 64 || product(launch.block) > 1024) return CUDA_ERROR_INVALID_VALUE;
  std::uint64_t most = 1, exactly = 1;  // .maxntid and .reqntid
  for (int i = 0; i < 3; ++i) {
    most *= std::max<std::uint32_t>(function.program->max_threads[i], 1);
    exactly *= std::max<std::uint32_t>(function.program->required_threads[i], 1);
  }
  if (function.program->max_threads[0] != 0 && product(launch.block) > most) return CUDA_ERROR_INVALID_VALUE;
  if (function.program->required_threads[0] != 0 && product(launch.block) != exactly) return CUDA_ERROR_INVALID_VALUE;
  return launch.dynamic_shared_bytes <= function.dynamic_shared_limit_bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// All blocks of a cooperative launch must be under way at once. Registers are not known here.
bool fits_at_once(const CUfunc_st& function, const LaunchArguments& launch) {
  const auto threads = static_cast<std::uint32_t>((product(launch.block) + 31) / 32 * 32);
  const std::uint32_t shared = function.program->static_shared_bytes + launch.dynamic_shared_bytes + 1024;
  const std::uint32_t blocks =
      std::min({threads_multiprocessor / threads, blocks_multiprocessor, shared_bytes_multiprocessor / shared});
  return product(launch.grid) <= std::uint64_t{blocks} * multiprocessors;
}

CUresult launch(CUfunction function, CUstream stream, LaunchArguments arguments, void** parameters, void** extra) {
  return in_context([&](Device& state) {
    if (!state.has_function(function)) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult fine = check_shape(*function, arguments); fine != CUDA_SUCCESS) return fine;
    if (arguments.cooperative && !fits_at_once(*function, arguments)) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    const auto& wanted = function->program->parameters;
    if (extra != nullptr || (parameters == nullptr && !wanted.empty())) return CUDA_ERROR_INVALID_VALUE;
    arguments.kernel = function->name;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (parameters[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
      const auto bytes = wanted[i].bytes != 0 ? static_cast<std::size_t>(wanted[i].bytes)
                                              : static_cast<std::size_t>(bytes_of(wanted[i].type));
      arguments.parameters.emplace_back(static_cast<const char*>(parameters[i]), bytes);
    }
    return submit(state, stream, KernelWork{function, std::move(arguments)});
  });
}

LaunchArguments shape(const std::array<std::uint32_t, 3>& grid, const std::array<std::uint32_t, 3>& block,
                      std::uint32_t dynamic_shared_bytes, bool cooperative) {
  LaunchArguments arguments;
  arguments.grid = grid;
  arguments.block = block;
  arguments.dynamic_shared_bytes = dynamic_shared_bytes;
  arguments.cooperative = cooperative;
  return arguments;
}

}  // namespace
}  // namespace kw::emulated_driver

using namespace kw::emulated_driver;

KW_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                  unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                  unsigned int dynamic_shared_bytes, CUstream stream, void** parameters, void** extra) {
  return launch(function, stream,
                shape({grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_shared_bytes, false), parameters,
                extra);
}

KW_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                             unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                             unsigned int block_z, unsigned int dynamic_shared_bytes, CUstream stream,
                                             void** parameters) {
  return launch(function, stream,
                shape({grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_shared_bytes, true), parameters,
                nullptr);
}
