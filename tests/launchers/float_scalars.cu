// task: softmax
#include <cmath>
#include <cfloat>
__global__ void f(float a, float b, double c, double d, float e) {}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  float scale = 1.0f / sqrtf((float)cols);
  double inverse = 1.0 / cols;
  float mixed = cols / 3 + 0.1;
  f<<<1, 1, 0, stream>>>(scale, inverse, inverse, std::sqrt(cols), mixed);
  f<<<1, 1, 0, stream>>>(-FLT_MAX, 0x1p-3f, 1e-5f, .5, rows * 1e10f);
  f<<<1, 1, 0, stream>>>(std::log2(float(cols)), powf(rows, 0.5f), std::pow(cols, 2), fminf(scale, mixed), std::ceil(cols / 7.0f));
  f<<<static_cast<unsigned>(ceil(cols / 32.0)), 1, 0, stream>>>(fabsf(-scale), floorf(mixed), exp(-1.0), M_PI, logf(cols));
  f<<<ceil((double)cols / 100), 32, 0, stream>>>(rows, cols, rows, cols, true);
}
