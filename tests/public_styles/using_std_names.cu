// task: relu
// Names of the host's library at file scope, and names of an outer namespace inside an inner one.
#include <algorithm>
#include <cassert>
#include <fstream>
#include <iostream>
#include <numeric>
#include <vector>

using std::accumulate;
using std::cout;
using std::generate;
using std::ofstream;
using std::vector;

namespace team {
namespace kinds {
enum class Activation { relu = 0, none = 1 };
}  // namespace kinds

namespace kernels {
using kinds::Activation;

template <typename T, Activation activation>
__global__ void activate(const T* x, T* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = activation == Activation::relu && x[i] < T(0) ? T(0) : x[i];
}

template <typename T>
void run(const T* x, T* y, int n, cudaStream_t stream) {
  activate<T, Activation::relu><<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
}  // namespace kernels
}  // namespace team

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  team::kernels::run(x, y, n, stream);
}

int main() {
  vector<int> counts(16, 1);
  ofstream file("counts.dat");
  file << accumulate(counts.begin(), counts.end(), 0);
  cout << "done\n";
}
