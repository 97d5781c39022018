// task: softmax
inline int pick(int a) { return a; }
inline int pick(float a) { return 1000 + (int)a; }
inline int pick(int a, int b) { return a * b; }
template <class T> int pick(T* p, int n) { return sizeof(T) * n; }
template <class T> int kind() { return 1; }
template <> int kind<float>() { return 2; }
__global__ void k(int a, int b, int c, int d, int e) {}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  k<<<1, 1, 0, stream>>>(pick(rows), pick(1.5f), pick(rows, cols), pick(x, 3), kind<float>() * 10 + kind<int>());
}
