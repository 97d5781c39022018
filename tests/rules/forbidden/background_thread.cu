// expect: host-call
#include <cstdint>
extern "C" void launch(float* y, cudaStream_t stream) { std::thread([=] { y[0] = 1; }).detach(); }
