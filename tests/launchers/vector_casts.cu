// task: softmax
#include <cstdint>
__global__ void vec4(const float4* x, float4* y, int n) { y[0] = x[0]; }
__global__ void tail(const float* x, float* y, int n, float4 pad, int2 where) { y[0] = x[0] + n; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  int n = rows * cols;
  bool aligned = (reinterpret_cast<uintptr_t>(x) % 16 == 0) && (((size_t)y & 15) == 0);
  int done = 0;
  if (aligned && n >= 4) {
    vec4<<<(n / 4 + 63) / 64, 64, 0, stream>>>(reinterpret_cast<const float4*>(x), reinterpret_cast<float4*>(y), n / 4);
    done = n / 4 * 4;
  }
  if (done < n) {
    float4 pad = make_float4(1, 2, 3, 4);
    pad.y = 0.5f;
    tail<<<1, n - done, 0, stream>>>(&x[done], y + done, n - done, pad, make_int2(rows, cols));
  }
  const float* odd = x + 1;
  if ((uintptr_t)odd & 15) tail<<<1, 4, 0, stream>>>(odd, y, sizeof(float4), float4{1.f, 2.f}, {3, 4});
}
