// A file that can be seen would make the error; the answer must be that none is there.
#if __has_include("/etc/passwd") || __has_include(</etc/hostname>) || __has_include("@SECRET@") || \
    __has_include("/proc/self/environ") || __has_include("../../../../../../etc/passwd")
#error a host file can be seen
#endif
__global__ void k(int* x) { *x = 1; }
