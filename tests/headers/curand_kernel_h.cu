#include <curand_kernel.h>
namespace use_curand_kernel_h {
__device__ float f(unsigned seed) {
  curandStatePhilox4_32_10_t state;
  curand_init(seed, threadIdx.x, 0, &state);
  return curand_uniform(&state);
}
}  // namespace use_curand_kernel_h
