#define CAT(a, b) a##b
#define X2(a) CAT(a, a)
#define X4(a) X2(X2(a))
#define X16(a) X4(X4(a))
#define X256(a) X16(X16(a))
#define X64K(a) X256(X256(a))
#define X4G(a) X64K(X64K(a))
__global__ void k(int* x) { int X4G(abcdefgh) = 1; *x = 2; }
