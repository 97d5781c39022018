// task: add
// What a launch does not need: a stopwatch with events, a comparison with a library, a kernel for another machine.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <thrust/device_vector.h>
#include <thrust/transform.h>
#define WITH_DOUBLE 0
#if WITH_DOUBLE
typedef double number;
#else
typedef float number;
#endif
#ifdef _WIN32
#include <d3d11.h>
#endif

typedef std::chrono::steady_clock Clock;

class Stopwatch {
  cudaEvent_t begin_, end_;

 public:
  Stopwatch() {
    if (cudaEventCreate(&begin_) != cudaSuccess) throw std::runtime_error("no event");
    cudaEventCreate(&end_);
  }
  ~Stopwatch() { cudaEventDestroy(begin_); }
  float stop() {
    float milliseconds = 0;
    cudaEventRecord(end_);
    cudaEventElapsedTime(&milliseconds, begin_, end_);
    return milliseconds;
  }
};

struct Shape {
  int count;
  explicit Shape(int n) : count(n) {}
  int blocks() const { return (count + 255) / 256; }
  int checked() const {
    if (count < 0) throw std::runtime_error("negative");
    return count;
  }
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.count; }

struct Sum {
  __host__ __device__ number operator()(number a, number b) const { return a + b; }
};

__global__ void time_steps(long long* out) { out[threadIdx.x] = clock64(); }

__global__ void add_numbers(const number* a, const number* b, number* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

void compare(thrust::device_vector<number>& a, thrust::device_vector<number>& b, thrust::device_vector<number>& c) {
  thrust::transform(a.begin(), a.end(), b.begin(), c.begin(), Sum());
}

extern "C" void launch(const float* a, const float* b, float* c, int n, cudaStream_t stream) {
  const Shape shape(n);
  add_numbers<<<shape.blocks(), 256, 0, stream>>>(a, b, c, n);
}

int main() {
  Stopwatch watch;
  const auto start = Clock::now();
  time_steps<<<1, 32>>>(nullptr);
  std::cout << Shape(3) << " " << watch.stop() << " " << (Clock::now() - start).count() << std::endl;
}
