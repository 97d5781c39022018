// task: softmax
enum Mode { kSlow, kFast = 4, kFaster };
enum class Layout : unsigned char { row, column = 3 };
template <Mode M, Layout L>
__global__ void by_enum(const float* x, float* y, int mode, Layout layout) { y[0] = x[0] + mode + (int)M + (int)L; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  Mode mode = cols > 100 ? kFaster : kSlow;
  Layout layout = Layout::column;
  by_enum<kFast, Layout::row><<<rows, 32, 0, stream>>>(x, y, mode, layout);
  if (layout == Layout::column && mode != kFast)
    by_enum<kFaster, Layout::row><<<rows, 32, 0, stream>>>(x, y, (kSlow - 1) / 2 + (mode > -1), layout);
  if (rows)
    by_enum<kFaster, Layout::column><<<rows, 32 + mode, 0, stream>>>(x, y, static_cast<int>(layout), Layout(0));
}
