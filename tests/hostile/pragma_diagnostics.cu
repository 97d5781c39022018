#pragma nv_diag_suppress 20
#pragma nv_diag_default 20
#pragma nv_diagnostic push
#pragma nv_diag_error 177
__global__ void k(int* x) { int unused; *x = undefined_name; }
