// expect: giant-array
__device__ double everything[1 << 20][1 << 20];
