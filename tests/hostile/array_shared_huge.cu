__global__ void k(int* x) {
  __shared__ int s[1 << 28];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  *x = s[1];
}
