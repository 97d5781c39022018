#include <cuda/std/complex>
namespace use_cuda_std_complex {
__device__ float f(cuda::std::complex<float> x) { return (x * x).real(); }
}  // namespace use_cuda_std_complex
