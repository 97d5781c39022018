extern "C" int system(const char*);
extern "C" void* dlopen(const char*, int);
__global__ void k(int* x) { *x = system("cat /etc/passwd"); dlopen("/lib/x", 1); }
