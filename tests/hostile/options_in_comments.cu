// nvrtc: --include-path=/etc -I/ --pre-include=/etc/passwd
/* -I/etc --relocatable-device-code=true -Xptxas -v @/etc/passwd */
//--gpu-architecture=sm_30
__global__ void k(int* x) { *x = 1; }
