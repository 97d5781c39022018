struct A { A a; };
template <class T> struct B : B<B<T>> {};
using C = decltype(C{});
__global__ void k(int* x) { *x = sizeof(B<int>) + sizeof(A); }
