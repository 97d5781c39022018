#include "http://127.0.0.1/header.h"
#include <https://127.0.0.1/header.h>
__global__ void k(int* x) { *x = 1; }
