#define TEXT(x) #x
#define PATH(x) TEXT(x)
#include PATH(/etc/passwd)
__global__ void k(int* x) { *x = 1; }
