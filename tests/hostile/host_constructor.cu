struct Evil { Evil() { __builtin_trap(); } };
static Evil evil;
__attribute__((constructor)) void start() { __builtin_trap(); }
__global__ void k(int* x) { *x = 1; }
