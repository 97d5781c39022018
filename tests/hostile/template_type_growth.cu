template <class A, class B> struct Pair { A a; B b; };
template <int n, class T> struct Grow { using type = typename Grow<n - 1, Pair<T, Pair<T, T>>>::type; };
template <class T> struct Grow<0, T> { using type = T; };
__global__ void k(int* x) { typename Grow<64, int>::type value; *x = sizeof(value); }
