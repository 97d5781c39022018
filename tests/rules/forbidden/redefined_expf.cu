// expect: library-redefinition
extern "C" __device__ float expf(float x) { return 1.0f; }
