#include <device_launch_parameters.h>
namespace use_device_launch_parameters_h {
__device__ int f(int x) { return x + blockIdx.x * blockDim.x + threadIdx.x + gridDim.y; }
}  // namespace use_device_launch_parameters_h
