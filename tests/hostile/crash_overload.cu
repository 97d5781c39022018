struct X { template <class T> __device__ operator T() const { return T(*this); } };
template <class T> __device__ auto operator+(T a, T b) -> decltype(a + b) { return a + b; }
__global__ void k(int* x) { *x = X() + X(); }
