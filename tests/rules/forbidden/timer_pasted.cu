// expect: device-timer
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
__global__ void k(long long* y) { y[0] = GLUE(clo, ck64)(); }
