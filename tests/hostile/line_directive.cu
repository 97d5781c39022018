#line 1 "/etc/passwd"
# 77 "/etc/shadow" 3
__global__ void k(int* x) { *x = undefined_name; }
