// A thread walks down eight pixels of one column with the 3 x 3 window and the nine weights in registers: each step
// loads three new values instead of nine values and nine weights.
constexpr int columns = 32;
constexpr int strips = 4;
constexpr int pixels_per_thread = 8;

struct Row {
  float left, middle, right;

  __device__ float dot(Row other) const { return left * other.left + middle * other.middle + right * other.right; }
};

__global__ void depthwise_3x3(const float* __restrict__ x, const float* __restrict__ weight,
                              const float* __restrict__ bias, float* __restrict__ y, int channels, int height,
                              int width) {
  const int col = blockIdx.z * columns + threadIdx.x;
  const int first = (blockIdx.y * strips + threadIdx.y) * pixels_per_thread;
  if (col >= width) return;
  const int channel = blockIdx.x % channels;
  const size_t plane = static_cast<size_t>(blockIdx.x) * height * width;
  const float* taps = weight + channel * 9;
  const Row upper{taps[0], taps[1], taps[2]}, centre{taps[3], taps[4], taps[5]}, lower{taps[6], taps[7], taps[8]};
  const float shift = bias[channel];

  const auto load = [&](int row) -> Row {
    if (row < 0 || row >= height) return {0.0f, 0.0f, 0.0f};
    const float* in = x + plane + static_cast<size_t>(row) * width + col;
    return {col > 0 ? in[-1] : 0.0f, in[0], col + 1 < width ? in[1] : 0.0f};
  };

  Row above = load(first - 1);
  Row here = load(first);
#pragma unroll
  for (int k = 0; k < pixels_per_thread; ++k) {
    const int row = first + k;
    const Row below = load(row + 1);
    if (row < height) {
      y[plane + static_cast<size_t>(row) * width + col] =
          shift + above.dot(upper) + here.dot(centre) + below.dot(lower);
    }
    above = here;
    here = below;
  }
}

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

extern "C" void launch(const float* x, const float* weight, const float* bias, float* y, int batch, int channels,
                       int height, int width, cudaStream_t stream) {
  const dim3 block(columns, strips);
  const dim3 grid(batch * channels, ceil_div(height, strips * pixels_per_thread), ceil_div(width, columns));
  depthwise_3x3<<<grid, block, 0, stream>>>(x, weight, bias, y, channels, height, width);
}
