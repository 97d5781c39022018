template <class T = decltype([] { return 1; }())> struct S { T t = [] { return sizeof(S<T*>); }(); };
__global__ void k(int* x) { S<> s; *x = s.t; }
