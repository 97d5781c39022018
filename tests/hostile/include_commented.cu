/* a */ # /* b */ include /* c */ "/etc/passwd" // d
__global__ void k(int* x) { *x = 1; }
