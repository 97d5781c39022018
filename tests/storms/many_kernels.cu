// task: relu
// storm: hundreds of different kernels, each launched
// status: timeout|correct|unsupported
__global__ void k0(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0 < 0 ? 1.0f : 0.0f) + 0.0f * 0;
}
__global__ void k1(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 1 < 0 ? 1.0f : 0.0f) + 0.0f * 1;
}
__global__ void k2(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 2 < 0 ? 1.0f : 0.0f) + 0.0f * 2;
}
__global__ void k3(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 3 < 0 ? 1.0f : 0.0f) + 0.0f * 3;
}
__global__ void k4(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 4 < 0 ? 1.0f : 0.0f) + 0.0f * 4;
}
__global__ void k5(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 5 < 0 ? 1.0f : 0.0f) + 0.0f * 5;
}
__global__ void k6(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 6 < 0 ? 1.0f : 0.0f) + 0.0f * 6;
}
__global__ void k7(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 7 < 0 ? 1.0f : 0.0f) + 0.0f * 7;
}
__global__ void k8(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 8 < 0 ? 1.0f : 0.0f) + 0.0f * 8;
}
__global__ void k9(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 9 < 0 ? 1.0f : 0.0f) + 0.0f * 9;
}
__global__ void k10(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 10 < 0 ? 1.0f : 0.0f) + 0.0f * 10;
}
__global__ void k11(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 11 < 0 ? 1.0f : 0.0f) + 0.0f * 11;
}
__global__ void k12(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 12 < 0 ? 1.0f : 0.0f) + 0.0f * 12;
}
__global__ void k13(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 13 < 0 ? 1.0f : 0.0f) + 0.0f * 13;
}
__global__ void k14(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 14 < 0 ? 1.0f : 0.0f) + 0.0f * 14;
}
__global__ void k15(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 15 < 0 ? 1.0f : 0.0f) + 0.0f * 15;
}
__global__ void k16(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 16 < 0 ? 1.0f : 0.0f) + 0.0f * 16;
}
__global__ void k17(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 17 < 0 ? 1.0f : 0.0f) + 0.0f * 17;
}
__global__ void k18(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 18 < 0 ? 1.0f : 0.0f) + 0.0f * 18;
}
__global__ void k19(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 19 < 0 ? 1.0f : 0.0f) + 0.0f * 19;
}
__global__ void k20(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 20 < 0 ? 1.0f : 0.0f) + 0.0f * 20;
}
__global__ void k21(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 21 < 0 ? 1.0f : 0.0f) + 0.0f * 21;
}
__global__ void k22(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 22 < 0 ? 1.0f : 0.0f) + 0.0f * 22;
}
__global__ void k23(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 23 < 0 ? 1.0f : 0.0f) + 0.0f * 23;
}
__global__ void k24(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 24 < 0 ? 1.0f : 0.0f) + 0.0f * 24;
}
__global__ void k25(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 25 < 0 ? 1.0f : 0.0f) + 0.0f * 25;
}
__global__ void k26(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 26 < 0 ? 1.0f : 0.0f) + 0.0f * 26;
}
__global__ void k27(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 27 < 0 ? 1.0f : 0.0f) + 0.0f * 27;
}
__global__ void k28(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 28 < 0 ? 1.0f : 0.0f) + 0.0f * 28;
}
__global__ void k29(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 29 < 0 ? 1.0f : 0.0f) + 0.0f * 29;
}
__global__ void k30(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 30 < 0 ? 1.0f : 0.0f) + 0.0f * 30;
}
__global__ void k31(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 31 < 0 ? 1.0f : 0.0f) + 0.0f * 31;
}
__global__ void k32(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 32 < 0 ? 1.0f : 0.0f) + 0.0f * 32;
}
__global__ void k33(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 33 < 0 ? 1.0f : 0.0f) + 0.0f * 33;
}
__global__ void k34(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 34 < 0 ? 1.0f : 0.0f) + 0.0f * 34;
}
__global__ void k35(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 35 < 0 ? 1.0f : 0.0f) + 0.0f * 35;
}
__global__ void k36(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 36 < 0 ? 1.0f : 0.0f) + 0.0f * 36;
}
__global__ void k37(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 37 < 0 ? 1.0f : 0.0f) + 0.0f * 37;
}
__global__ void k38(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 38 < 0 ? 1.0f : 0.0f) + 0.0f * 38;
}
__global__ void k39(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 39 < 0 ? 1.0f : 0.0f) + 0.0f * 39;
}
__global__ void k40(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 40 < 0 ? 1.0f : 0.0f) + 0.0f * 40;
}
__global__ void k41(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 41 < 0 ? 1.0f : 0.0f) + 0.0f * 41;
}
__global__ void k42(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 42 < 0 ? 1.0f : 0.0f) + 0.0f * 42;
}
__global__ void k43(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 43 < 0 ? 1.0f : 0.0f) + 0.0f * 43;
}
__global__ void k44(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 44 < 0 ? 1.0f : 0.0f) + 0.0f * 44;
}
__global__ void k45(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 45 < 0 ? 1.0f : 0.0f) + 0.0f * 45;
}
__global__ void k46(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 46 < 0 ? 1.0f : 0.0f) + 0.0f * 46;
}
__global__ void k47(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 47 < 0 ? 1.0f : 0.0f) + 0.0f * 47;
}
__global__ void k48(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 48 < 0 ? 1.0f : 0.0f) + 0.0f * 48;
}
__global__ void k49(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 49 < 0 ? 1.0f : 0.0f) + 0.0f * 49;
}
__global__ void k50(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 50 < 0 ? 1.0f : 0.0f) + 0.0f * 50;
}
__global__ void k51(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 51 < 0 ? 1.0f : 0.0f) + 0.0f * 51;
}
__global__ void k52(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 52 < 0 ? 1.0f : 0.0f) + 0.0f * 52;
}
__global__ void k53(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 53 < 0 ? 1.0f : 0.0f) + 0.0f * 53;
}
__global__ void k54(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 54 < 0 ? 1.0f : 0.0f) + 0.0f * 54;
}
__global__ void k55(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 55 < 0 ? 1.0f : 0.0f) + 0.0f * 55;
}
__global__ void k56(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 56 < 0 ? 1.0f : 0.0f) + 0.0f * 56;
}
__global__ void k57(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 57 < 0 ? 1.0f : 0.0f) + 0.0f * 57;
}
__global__ void k58(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 58 < 0 ? 1.0f : 0.0f) + 0.0f * 58;
}
__global__ void k59(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 59 < 0 ? 1.0f : 0.0f) + 0.0f * 59;
}
__global__ void k60(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 60 < 0 ? 1.0f : 0.0f) + 0.0f * 60;
}
__global__ void k61(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 61 < 0 ? 1.0f : 0.0f) + 0.0f * 61;
}
__global__ void k62(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 62 < 0 ? 1.0f : 0.0f) + 0.0f * 62;
}
__global__ void k63(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 63 < 0 ? 1.0f : 0.0f) + 0.0f * 63;
}
__global__ void k64(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 64 < 0 ? 1.0f : 0.0f) + 0.0f * 64;
}
__global__ void k65(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 65 < 0 ? 1.0f : 0.0f) + 0.0f * 65;
}
__global__ void k66(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 66 < 0 ? 1.0f : 0.0f) + 0.0f * 66;
}
__global__ void k67(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 67 < 0 ? 1.0f : 0.0f) + 0.0f * 67;
}
__global__ void k68(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 68 < 0 ? 1.0f : 0.0f) + 0.0f * 68;
}
__global__ void k69(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 69 < 0 ? 1.0f : 0.0f) + 0.0f * 69;
}
__global__ void k70(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 70 < 0 ? 1.0f : 0.0f) + 0.0f * 70;
}
__global__ void k71(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 71 < 0 ? 1.0f : 0.0f) + 0.0f * 71;
}
__global__ void k72(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 72 < 0 ? 1.0f : 0.0f) + 0.0f * 72;
}
__global__ void k73(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 73 < 0 ? 1.0f : 0.0f) + 0.0f * 73;
}
__global__ void k74(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 74 < 0 ? 1.0f : 0.0f) + 0.0f * 74;
}
__global__ void k75(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 75 < 0 ? 1.0f : 0.0f) + 0.0f * 75;
}
__global__ void k76(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 76 < 0 ? 1.0f : 0.0f) + 0.0f * 76;
}
__global__ void k77(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 77 < 0 ? 1.0f : 0.0f) + 0.0f * 77;
}
__global__ void k78(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 78 < 0 ? 1.0f : 0.0f) + 0.0f * 78;
}
__global__ void k79(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 79 < 0 ? 1.0f : 0.0f) + 0.0f * 79;
}
__global__ void k80(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 80 < 0 ? 1.0f : 0.0f) + 0.0f * 80;
}
__global__ void k81(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 81 < 0 ? 1.0f : 0.0f) + 0.0f * 81;
}
__global__ void k82(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 82 < 0 ? 1.0f : 0.0f) + 0.0f * 82;
}
__global__ void k83(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 83 < 0 ? 1.0f : 0.0f) + 0.0f * 83;
}
__global__ void k84(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 84 < 0 ? 1.0f : 0.0f) + 0.0f * 84;
}
__global__ void k85(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 85 < 0 ? 1.0f : 0.0f) + 0.0f * 85;
}
__global__ void k86(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 86 < 0 ? 1.0f : 0.0f) + 0.0f * 86;
}
__global__ void k87(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 87 < 0 ? 1.0f : 0.0f) + 0.0f * 87;
}
__global__ void k88(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 88 < 0 ? 1.0f : 0.0f) + 0.0f * 88;
}
__global__ void k89(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 89 < 0 ? 1.0f : 0.0f) + 0.0f * 89;
}
__global__ void k90(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 90 < 0 ? 1.0f : 0.0f) + 0.0f * 90;
}
__global__ void k91(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 91 < 0 ? 1.0f : 0.0f) + 0.0f * 91;
}
__global__ void k92(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 92 < 0 ? 1.0f : 0.0f) + 0.0f * 92;
}
__global__ void k93(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 93 < 0 ? 1.0f : 0.0f) + 0.0f * 93;
}
__global__ void k94(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 94 < 0 ? 1.0f : 0.0f) + 0.0f * 94;
}
__global__ void k95(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 95 < 0 ? 1.0f : 0.0f) + 0.0f * 95;
}
__global__ void k96(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 96 < 0 ? 1.0f : 0.0f) + 0.0f * 96;
}
__global__ void k97(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 97 < 0 ? 1.0f : 0.0f) + 0.0f * 97;
}
__global__ void k98(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 98 < 0 ? 1.0f : 0.0f) + 0.0f * 98;
}
__global__ void k99(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 99 < 0 ? 1.0f : 0.0f) + 0.0f * 99;
}
__global__ void k100(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 100 < 0 ? 1.0f : 0.0f) + 0.0f * 100;
}
__global__ void k101(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 101 < 0 ? 1.0f : 0.0f) + 0.0f * 101;
}
__global__ void k102(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 102 < 0 ? 1.0f : 0.0f) + 0.0f * 102;
}
__global__ void k103(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 103 < 0 ? 1.0f : 0.0f) + 0.0f * 103;
}
__global__ void k104(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 104 < 0 ? 1.0f : 0.0f) + 0.0f * 104;
}
__global__ void k105(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 105 < 0 ? 1.0f : 0.0f) + 0.0f * 105;
}
__global__ void k106(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 106 < 0 ? 1.0f : 0.0f) + 0.0f * 106;
}
__global__ void k107(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 107 < 0 ? 1.0f : 0.0f) + 0.0f * 107;
}
__global__ void k108(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 108 < 0 ? 1.0f : 0.0f) + 0.0f * 108;
}
__global__ void k109(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 109 < 0 ? 1.0f : 0.0f) + 0.0f * 109;
}
__global__ void k110(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 110 < 0 ? 1.0f : 0.0f) + 0.0f * 110;
}
__global__ void k111(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 111 < 0 ? 1.0f : 0.0f) + 0.0f * 111;
}
__global__ void k112(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 112 < 0 ? 1.0f : 0.0f) + 0.0f * 112;
}
__global__ void k113(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 113 < 0 ? 1.0f : 0.0f) + 0.0f * 113;
}
__global__ void k114(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 114 < 0 ? 1.0f : 0.0f) + 0.0f * 114;
}
__global__ void k115(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 115 < 0 ? 1.0f : 0.0f) + 0.0f * 115;
}
__global__ void k116(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 116 < 0 ? 1.0f : 0.0f) + 0.0f * 116;
}
__global__ void k117(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 117 < 0 ? 1.0f : 0.0f) + 0.0f * 117;
}
__global__ void k118(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 118 < 0 ? 1.0f : 0.0f) + 0.0f * 118;
}
__global__ void k119(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 119 < 0 ? 1.0f : 0.0f) + 0.0f * 119;
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  k0<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k1<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k2<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k3<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k4<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k5<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k6<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k7<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k8<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k9<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k10<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k11<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k12<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k13<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k14<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k15<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k16<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k17<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k18<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k19<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k20<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k21<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k22<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k23<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k24<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k25<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k26<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k27<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k28<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k29<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k30<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k31<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k32<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k33<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k34<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k35<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k36<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k37<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k38<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k39<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k40<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k41<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k42<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k43<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k44<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k45<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k46<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k47<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k48<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k49<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k50<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k51<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k52<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k53<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k54<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k55<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k56<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k57<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k58<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k59<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k60<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k61<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k62<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k63<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k64<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k65<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k66<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k67<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k68<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k69<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k70<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k71<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k72<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k73<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k74<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k75<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k76<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k77<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k78<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k79<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k80<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k81<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k82<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k83<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k84<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k85<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k86<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k87<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k88<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k89<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k90<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k91<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k92<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k93<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k94<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k95<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k96<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k97<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k98<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k99<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k100<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k101<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k102<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k103<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k104<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k105<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k106<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k107<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k108<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k109<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k110<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k111<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k112<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k113<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k114<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k115<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k116<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k117<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k118<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  k119<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
