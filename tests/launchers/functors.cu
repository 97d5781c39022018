// task: softmax
struct Add { __device__ float operator()(float a, float b) const { return a + b; } };
struct Scale {
  float factor;
  __host__ __device__ explicit Scale(float f) : factor(f) {}
  __device__ float operator()(float a, float b) const { return factor * a + b; }
};
template <class Op>
__global__ void apply(const float* x, float* y, int n, Op op) { y[0] = op(x[0], n); }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  apply<<<rows, 32, 0, stream>>>(x, y, cols, Add{});
  apply<<<rows, 64, 0, stream>>>(x, y, cols, Scale(0.5f * cols));
  Add add;
  apply<Add><<<rows, 96, 0, stream>>>(x, y, cols, add);
}
