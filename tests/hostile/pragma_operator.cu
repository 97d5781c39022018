_Pragma("include_alias(\"cuda_fp16.h\", \"/etc/passwd\")")
_Pragma("nv_diag_suppress 20")
_Pragma("nv_abi preserve_n_data(24)")
__global__ void k(int* x) { *x = 1; }
