// expect: hidden-character
__global__ void k(float* y) { /*‮ } if (false) { */ y[0] = 1; }
