// task: softmax
struct Shape {
  int rows;
  int cols;
  float scale;
  unsigned flags;
};
struct Pointers {
  const float* x;
  float* y;
  Shape shape;
};
__global__ void by_value(Pointers p, Shape s) { p.y[0] = p.x[0] + s.rows * p.shape.scale; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  Shape s{rows, cols, 1.0f / cols, 7u};
  Pointers p = {x + cols, y, s};
  p.shape.flags |= 8;
  by_value<<<rows, 32, 0, stream>>>(p, s);
  by_value<<<rows, 32, 0, stream>>>({x, y, {1, 2, 3.5f, 4}}, {5, 6, 7.f, 8});
}
