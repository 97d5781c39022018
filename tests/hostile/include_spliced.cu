#inc\
lude "/etc/pa\
sswd"
__global__ void k(int* x) { *x = 1; }
