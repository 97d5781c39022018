#include <new>
namespace use_new {
struct Cell {
  int x;
};
__device__ int f(void* place) { return (new (place) Cell{3})->x; }
}  // namespace use_new
