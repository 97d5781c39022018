// task: relu
// storm: every lane of a warp takes its own path
// status: timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n ? x[i] : 0;
  for (int k = 0; k < 1000000; ++k) {
    switch ((threadIdx.x + k) & 31) {
      case 0:
        v = v * 0.50f + 0.0f;
        break;
      case 1:
        v = v * 0.51f + 1.0f;
        break;
      case 2:
        v = v * 0.52f + 2.0f;
        break;
      case 3:
        v = v * 0.53f + 3.0f;
        break;
      case 4:
        v = v * 0.54f + 4.0f;
        break;
      case 5:
        v = v * 0.55f + 5.0f;
        break;
      case 6:
        v = v * 0.56f + 6.0f;
        break;
      case 7:
        v = v * 0.57f + 7.0f;
        break;
      case 8:
        v = v * 0.58f + 8.0f;
        break;
      case 9:
        v = v * 0.59f + 9.0f;
        break;
      case 10:
        v = v * 0.60f + 10.0f;
        break;
      case 11:
        v = v * 0.61f + 11.0f;
        break;
      case 12:
        v = v * 0.62f + 12.0f;
        break;
      case 13:
        v = v * 0.63f + 13.0f;
        break;
      case 14:
        v = v * 0.64f + 14.0f;
        break;
      case 15:
        v = v * 0.65f + 15.0f;
        break;
      case 16:
        v = v * 0.66f + 16.0f;
        break;
      case 17:
        v = v * 0.67f + 17.0f;
        break;
      case 18:
        v = v * 0.68f + 18.0f;
        break;
      case 19:
        v = v * 0.69f + 19.0f;
        break;
      case 20:
        v = v * 0.70f + 20.0f;
        break;
      case 21:
        v = v * 0.71f + 21.0f;
        break;
      case 22:
        v = v * 0.72f + 22.0f;
        break;
      case 23:
        v = v * 0.73f + 23.0f;
        break;
      case 24:
        v = v * 0.74f + 24.0f;
        break;
      case 25:
        v = v * 0.75f + 25.0f;
        break;
      case 26:
        v = v * 0.76f + 26.0f;
        break;
      case 27:
        v = v * 0.77f + 27.0f;
        break;
      case 28:
        v = v * 0.78f + 28.0f;
        break;
      case 29:
        v = v * 0.79f + 29.0f;
        break;
      case 30:
        v = v * 0.80f + 30.0f;
        break;
      case 31:
        v = v * 0.81f + 31.0f;
        break;
    }
  }
  if (i < n) y[i] = fmaxf(x[i], v == 1234.5f ? 1.0f : 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
