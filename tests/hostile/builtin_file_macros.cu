__constant__ char where[] = __FILE__ __DATE__ __TIME__ __BASE_FILE__ __TIMESTAMP__;
__global__ void k(char* x) { *x = where[threadIdx.x]; }
