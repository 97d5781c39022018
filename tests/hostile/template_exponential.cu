template <int n, long id> struct Tree {
  Tree<n - 1, 2 * id> left;
  Tree<n - 1, 2 * id + 1> right;
};
template <long id> struct Tree<0, id> { int leaf; };
__global__ void k(int* x) { *x = sizeof(Tree<24, 1>); }
