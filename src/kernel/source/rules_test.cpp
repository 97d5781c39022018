#include "kernel/source/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace kw {
namespace {

struct Case {
  std::string text;
  std::string rule;  // expected, or empty for "no error of any rule"
  Severity severity = Severity::error;
};

std::string in_kernel(const std::string& body) {
  return "__global__ void k(float* y, const float* x, int n) {\n" + body + "\n}\n";
}
std::string in_launcher(const std::string& body) {
  return "extern \"C\" void launch(float* y, const float* x, int n, cudaStream_t stream) {\n" + body + "\n}\n";
}

std::string all(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += to_string(finding) + "\n";
  return text;
}

bool contains(const std::vector<Finding>& findings, const std::string& rule, Severity severity) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.rule == rule && finding.severity == severity && finding.where.line > 0 && !finding.advice.empty();
  });
}

void expect_cases(const std::vector<Case>& cases, const Policy& policy = {}) {
  for (const Case& c : cases) {
    const std::vector<Finding> findings = check_rules(c.text, "k.cu", policy);
    if (c.rule.empty()) {
      EXPECT_FALSE(has_error(findings)) << c.text << "\n" << all(findings);
    } else {
      EXPECT_TRUE(contains(findings, c.rule, c.severity)) << "expected " << c.rule << " in\n"
                                                          << c.text << "\n"
                                                          << all(findings);
    }
  }
}

TEST(Rules, IncludesOutsideTheListAreRefusedInEverySpelling) {
  expect_cases({
      {"#include \"/etc/passwd\"\n", "include"},
      {"#include </etc/passwd>\n", "include"},
      {"#include \"../../secret.h\"\n", "include"},
      {"#include <cuda/../../../etc/passwd>\n", "include"},
      {"#include <filesystem>\n", "include"},
      {"#include <torchvision/ops.h>\n", "include"},
      {"#include <cusolverDn.h>\n", "include"},
      {"  #  inc\\\nlude \"/etc/passwd\"\n", "include"},
      {"/* a */ # /* b */ include /* c */ \"/etc/passwd\"\n", "include"},
      {"#define INC \"/etc/passwd\"\n#include INC\n", "include"},
      {"#define INC(x) <x>\n#include INC(/etc/passwd)\n", "include"},
      {"#include R\"(/etc/passwd)\"\n", "include"},
      {"#include_next <cmath>\n", "directive"},
      {"#import <cmath>\n", "directive"},
      {"#embed \"/etc/passwd\"\n", "directive"},
      {"import <fstream>;\n", "include"},
      {"%:include \"/etc/passwd\"\n", "digraph"},
      {"?\?=include \"/etc/passwd\"\n", "trigraph"},
      {"#if __has_include(\"/etc/passwd\")\n#endif\n", "has-include"},
      {"#define H __has_include\n#if H(\"/etc/passwd\")\n#endif\n", "has-include"},
      {"#if __has_embed(\"/etc/passwd\")\n#endif\n", "has-include"},
      {"#include <cuda_fp16.h>\n#include \"cuda_bf16.h\"\n#include <cooperative_groups/reduce.h>\n", ""},
      {"#include <cuda/std/limits>\n#include <cub/block/block_reduce.cuh>\n#include <cstdint>\n#include <mma.h>\n", ""},
      {"// #include \"/etc/passwd\"\n/*\n#include \"/etc/passwd\"\n*/\n", ""},
      {in_kernel("const char* s = \"#include </etc/passwd>\";"), ""},
  });
}

TEST(Rules, DirectivesAndPragmasThatChangeTheBuild) {
  expect_cases({
      {"#pragma GCC optimize(\"O0\")\n", "pragma"},
      {"#pragma GCC optimize\n", "pragma"},
      {"#prag\\\nma comment(lib, \"x\")\n", "pragma"},
      {"_Pragma(\"GCC optimize(\\\"O0\\\")\")\n", "pragma"},
      {"_Pragma(R\"(GCC optimize)\")\n", "pragma"},
      {"#define P(x) _Pragma(#x)\nP(GCC poison float)\n", "pragma"},
      {"__pragma(warning(disable : 4))\n", "pragma"},
      {"#line 7 \"/etc/passwd\"\n", "line-directive"},
      {"# 7 \"/etc/passwd\"\n", "line-directive"},
      {"#ident \"x\"\n", "directive"},
      {"#define __device__\n", "macro-name"},
      {"#define if(x) while(x)\n", "macro-name"},
      {"#undef __CUDA_ARCH__\n", "macro-name"},
      {"#define threadIdx blockIdx\n", "macro-name"},
      {"#define __MY_GUARD__\n", "macro-name", Severity::warning},
      {"#pragma once\n" + in_kernel("#pragma unroll 4\nfor (int i = 0; i < 4; ++i) y[i] = 0;"), ""},
      {in_kernel("_Pragma(\"unroll\")\nfor (int i = 0; i < 4; ++i) y[i] = 0;"), ""},
      {"#define TILE 32\n#ifndef TILE\n#error no tile\n#endif\n", ""},
  });
}

TEST(Rules, AttributesInEverySpelling) {
  expect_cases({
      {"__attribute__((constructor)) void f() {}\n", "attribute"},
      {"__attribute__ ( ( section (\"x\") ) ) int a;\n", "attribute"},
      {"__attribute__((unused, destructor)) void f() {}\n", "attribute"},
      {"[[gnu::constructor]] void f() {}\n", "attribute"},
      {"[ [ gnu :: weak ] ] void f();\n", "attribute"},
      {"[[using gnu : constructor]] void f() {}\n", "attribute"},
      {"#define ATTR __attribute__\nATTR((constructor)) void f() {}\n", "attribute"},
      {"#define CON con##structor\n[[gnu::CON]] void f() {}\n", "attribute"},
      {"__declspec(dllexport) void f();\n", "attribute"},
      {"__attribute__((aligned(16))) float a;\n__device__ [[maybe_unused]] const int b = 1;\n", ""},
      {"struct __align__(16) V { float x[4]; };\n[[nodiscard]] __device__ int f() { return 1; }\n", ""},
      {in_kernel("float a[4]; int b[2]; a[b[0]] = a[0];"), ""},
  });
}

TEST(Rules, DeviceLibraryCalls) {
  expect_cases({
      {in_kernel("printf(\"%d\", n);"), "device-printf", Severity::warning},
      {in_kernel("pri\\\nntf(\"%d\", n);"), "device-printf", Severity::warning},
      {in_kernel("int a = printf(\"%d\", n);"), "device-printf"},
      {in_kernel("if (printf(\"x\")) y[0] = 1;"), "device-printf"},
      {in_kernel("vprintf(\"x\", 0);"), "device-printf"},
      {in_kernel("auto p = &printf;"), "device-printf"},
      {"#define X pri##ntf\n" + in_kernel("X(\"%d\", n);"), "device-printf", Severity::warning},
      {"#define CAT_(a, b) a##b\n#define CAT(a, b) CAT_(a, b)\n#define A pri\n#define B ntf\n" +
           in_kernel("CAT(A, B)(\"%d\", n);"),
       "device-printf", Severity::warning},
      {"#if 1\n#define LOG printf\n#else\n#define LOG(...)\n#endif\n" + in_kernel("LOG(\"x\");"), "device-printf",
       Severity::warning},
      {"#if 0\n#define LOG(...)\n#else\n#define LOG printf\n#endif\n" + in_kernel("LOG(\"x\");"), "device-printf",
       Severity::warning},
      {"#ifdef DEBUG\n#define printf(...)\n#endif\n" + in_kernel("printf(\"x\");"), "device-printf", Severity::warning},
      {in_kernel("std::printf(\"x\");"), "device-printf", Severity::warning},
      {in_launcher("auto f = [=] __device__() { printf(\"x\"); };"), "device-printf", Severity::warning},
      {in_launcher("struct S { __device__ void f() { printf(\"x\"); } };"), "device-printf", Severity::warning},
      {in_kernel("float* p = (float*)malloc(4);"), "device-malloc"},
      {in_kernel("float* p = new float[n];"), "device-malloc"},
      {in_kernel("float* p = new (std::nothrow) float[n];"), "device-malloc"},
      {in_kernel("float* p = new (float);"), "device-malloc"},
      {in_kernel("delete[] y;"), "device-malloc"},
      {in_kernel("free(y);"), "device-malloc"},
      {"void* operator new(size_t n) { return 0; }\n", "device-malloc"},
      {in_kernel("assert(n > 0);"), "device-assert", Severity::note},
      {in_kernel("long long t = clock64();"), "device-timer"},
      {in_kernel("int t = clock( );"), "device-timer"},
      {"__device__ float clock(float x) { return x; }\n" + in_kernel("y[0] = clock();"), "device-timer"},
      {in_kernel("auto t = cuda::std::chrono::system_clock::now();"), "device-timer"},
      {in_kernel("int t = (clock)();"), "device-timer"},
      {in_kernel("auto t = clock; y[0] = t();"), "device-timer"},
      {in_kernel("auto t = &clock; y[0] = t();"), "device-timer"},
      {"__device__ auto timer() { return clock; }\n", "device-timer"},
      {in_kernel("int clock = 3; int u = clock; y[u] = (clock) + f(clock);"), ""},
      {in_kernel("__nanosleep(100);"), "device-sleep"},
      {in_kernel("__trap();"), "device-trap", Severity::warning},
      {in_kernel("__brkpt();"), "device-trap"},
      {in_kernel("__prof_trigger(0);"), "device-trap"},
      {in_kernel("__builtin_trap();"), "device-trap"},
      {in_kernel("int t = __nvvm_read_ptx_sreg_clock();"), "compiler-internal"},
      {in_kernel("k<<<1, 1>>>(y, x, n);"), "dynamic-parallelism"},
      {in_kernel("cudaDeviceSynchronize();"), "dynamic-parallelism"},
      {in_kernel("cudaTriggerProgrammaticLaunchCompletion();"), "grid-dependency"},
      {in_kernel("cuda::annotated_ptr<float, cuda::access_property::persisting> p{y};"), "l2-persistence"},
      // words that only look like it
      {in_kernel("// printf(1); malloc(2);\nconst char* s = \"printf malloc clock64()\";"), ""},
      {in_kernel("int my_printf_count = 0; float clock_rate = 1.f; int mallocs = 2;"), ""},
      {"__device__ float clock(float t) { return t * 2.f; }\n" + in_kernel("y[0] = clock(x[0]);"), ""},
      {in_kernel("int free = n; int read = free + 1; int open = read; y[open] = 0;"), ""},
      {"struct Pool { __device__ void free(int) {} };\n" + in_kernel("Pool p; p.free(1);"), ""},
      {"struct S { S() = default; S(const S&) = delete; };\n", ""},
      {"#define assert(x)\n" + in_kernel("assert(n > 0);"), ""},
      {in_kernel("new (&y[0]) float(1.f);"), ""},
      {in_kernel("static_assert(sizeof(float) == 4, \"x\"); y[0] = __expf(x[0]);"), ""},
  });
}

TEST(Rules, PolicyCanAllow) {
  Policy policy;
  policy.allow_printf = policy.allow_assert = policy.allow_device_malloc = true;
  expect_cases({{in_kernel("printf(\"x\"); assert(n); float* p = new float[3]; delete[] p; free(malloc(3));"), ""}},
               policy);
  policy.allow_inline_ptx = false;
  expect_cases({{in_kernel("asm(\"mov.u32 %0, %laneid;\" : \"=r\"(n));"), "asm"}}, policy);
}

TEST(Rules, HostCallsInTheLauncher) {
  expect_cases({
      {in_launcher("system(\"id\");"), "host-call"},
      {in_launcher("::system(\"id\");"), "host-call"},
      {in_launcher("std::system(\"id\");"), "host-call"},
      {"#define RUN sys##tem\n" + in_launcher("RUN(\"id\");"), "host-call"},
      {in_launcher("auto f = fopen(\"/etc/passwd\", \"r\");"), "host-call"},
      {in_launcher("int f = open(\"/etc/passwd\", 0);"), "host-call"},
      {in_launcher("int (*f)(const char*, int) = 0; ::open(\"/etc/passwd\", 0);"), "host-call"},
      {in_launcher("std::thread t([] {});"), "host-call"},
      {in_launcher("std::ofstream f(\"x\");"), "host-call"},
      {in_launcher("getenv(\"HOME\");"), "host-call"},
      {in_launcher("syscall(1);"), "host-call"},
      {in_launcher("dlopen(\"x\", 1);"), "host-call"},
      {in_launcher("fork();"), "host-call"},
      {in_launcher("cudaStream_t s; cudaStreamCreate(&s);"), "side-stream"},
      {in_launcher("cudaEventCreate(nullptr);"), "side-stream"},
      {in_launcher("k<<<1, 1, 0, cudaStreamPerThread>>>(y, x, n);"), "side-stream"},
      {in_launcher("cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1);"), "cuda-host-call"},
      {in_launcher("void* p; cudaGetSymbolAddress(&p, x);"), "cuda-host-call"},
      {in_launcher("auto f = cudaMemcpyToSymbol;"), "cuda-host-call"},
      {in_launcher("cudaMemcpyAsync(y, x, n, cudaMemcpyHostToDevice, stream);"), "cuda-host-call"},
      {in_launcher("cudaSetDevice(1);"), "cuda-host-call"},
      {in_launcher("cudaCheckAll();"), "cuda-host-call"},
      {"inline void cudaCheckAll(cudaError_t e) { if (e != cudaSuccess) return; }\n" +
           in_launcher("cudaCheckAll(cudaGetLastError());"),
       ""},
      {in_launcher("cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);"), ""},
      {in_launcher("cuModuleLoadData(nullptr, nullptr);"), "library-fallback"},
      {in_launcher("cublasSgemm(0);"), "library-fallback"},
      {in_launcher("thrust::sort(y, y + n);"), "library-fallback"},
      {in_launcher("at::matmul(a, b);"), "library-fallback"},
      {in_launcher("cub::DeviceReduce::Sum(nullptr, n, x, y, n, stream);"), "library-fallback"},
      {in_launcher("asm(\"syscall\");"), "asm-host"},
      {"asm(\".globl x\");\n", "asm-host"},
      {in_launcher("float* s; cudaMallocAsync(&s, 4, stream); cudaMemsetAsync(s, 0, 4, stream);"
                   "k<<<1, 1, 0, stream>>>(y, x, n); cudaFreeAsync(s, stream); cudaGetLastError();"),
       ""},
      {in_launcher("cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);"
                   "cudaMemcpyAsync(y, x, n, cudaMemcpyDeviceToDevice, stream);"
                   "int d; cudaGetDevice(&d); cudaDeviceGetAttribute(&d, cudaDevAttrMultiProcessorCount, 0);"),
       ""},
      {"__device__ float read(const float* x) { return *x; }\n" + in_kernel("y[0] = read(x);"), ""},
      {in_kernel("namespace_like::open(x); obj.close(); p->write(1);"), ""},
      {"#include <cstdio>\n" + in_launcher("if (cudaGetLastError()) { char s[9]; snprintf(s, 9, \"%d\", n); }"), ""},
      {in_kernel("char s[9]; snprintf(s, 9, \"x\");"), "host-call"},
      {"using std::cout;\nusing std::ofstream;\nusing std::thread;\n" + in_launcher("n = 1;"), ""},
      {"using std::ofstream;\n" + in_launcher("ofstream f;"), "host-call"},
      {"#include <chrono>\nusing namespace std::chrono;\n" + in_launcher("n = 1;"), ""},
      {"template <class T, class U> __device__ T cast(U a) { return T(a); }\n"
       "template <> __device__ float cast<float, __nv_bfloat16>(__nv_bfloat16 a) { return __bfloat162float(a); }\n" +
           in_kernel(""),
       ""},
      {"enum cudaRowOrder { ROWS };\nstruct cudaShape { int n; };\n" + in_launcher("cudaShape s{ROWS};"), ""},
      {"struct cudaLaunchDevice {};\n" + in_kernel("cudaLaunchDevice(y, 0);"), "dynamic-parallelism"},
  });
}

TEST(Rules, WhatCompilersReadDifferently) {
  const std::string next = in_kernel("");
  expect_cases({
      {"// harmless? \\ \n__device__ int one = 1;\n" + next, "line-splice"},
      {"#define TWO \\\t\n2\n" + next, "line-splice"},
      {"// harmless? \\ \r\n__device__ int one = 1;\r\n" + next, "line-splice"},
      {"#define TWO \\\n2\n" + next, ""},
      {"//  /\\ \n// /  \\ \n\n" + next, ""},
      {"__constant__ char s[] = \"a\\tb\";\n" + next, ""},
      {"#ifdef __EDG__\n#define A 1\n#endif\n" + next, "build-macro"},
      {"#if defined(linux) || __CUDA_FTZ\n#define A 1\n#endif\n" + next, "build-macro"},
      {"#if defined(__linux__) && __CUDA_ARCH__ >= 800 && defined(__GNUC__)\n#define A 1\n#endif\n" + next, ""},
  });
}

TEST(Rules, HeadersInBranchesThatAreNotTaken) {
  const std::string other = "#include \"other/helper.hpp\"\n";
  expect_cases({
      {"#ifdef OTHER\n" + other + "#else\n#include <cmath>\n#endif\n" + in_kernel(""), ""},
      {"#ifndef OTHER\n#else\n" + other + "#endif\n" + in_kernel(""), ""},
      {"#ifdef OTHER\n#if SOME > 1\n" + other + "#endif\n#endif\n" + in_kernel(""), ""},
      {"#ifdef __HIP_PLATFORM_AMD__\n" + other + "#endif\n" + in_kernel(""), ""},
      {"#if defined(OTHER) || defined __HIPCC__ || SOME\n" + other + "#endif\n" + in_kernel(""), ""},
      {"#if defined __CUDACC__\n#elif defined __HIPCC__\n" + other + "#endif\n" + in_kernel(""), ""},
      {"#if defined(OTHER) || defined(__CUDACC__)\n" + other + "#endif\n" + in_kernel(""), "include"},
      {"#if !OTHER\n" + other + "#endif\n" + in_kernel(""), "include"},
      {"#if OTHER == 0\n" + other + "#endif\n" + in_kernel(""), "include"},
      {"#ifdef OTHER\n#else\n" + other + "#endif\n" + in_kernel(""), "include"},
      {"#ifdef OTHER\n#elif SOME\n" + other + "#endif\n" + in_kernel(""), ""},
      {"#ifdef OTHER\n#elif SOME < 1\n" + other + "#endif\n" + in_kernel(""), "include"},
      {"#ifndef OTHER\n" + other + "#endif\n" + in_kernel(""), "include"},
      {"#define OTHER\n#ifdef OTHER\n" + other + "#endif\n" + in_kernel(""), "include"},
      {"#ifdef OTHER\n" + other + "#endif\n#define OTHER\n" + in_kernel(""), "include"},
      {"#ifdef __CUDACC__\n" + other + "#endif\n" + in_kernel(""), "include"},
      {"#ifdef CUDART_VERSION\n" + other + "#endif\n" + in_kernel(""), "include"},
      {"#ifdef OTHER\n#endif\n" + other + in_kernel(""), "include"},
      {"#ifdef OTHER\n#include \"../../secret\"\n#endif\n" + in_kernel(""), "include"},
      {"#ifdef OTHER\n#include </etc/passwd>\n#endif\n" + in_kernel(""), "include"},
      {other + in_kernel(""), "include"},
  });
}

TEST(Rules, InlinePtx) {
  expect_cases({
      {in_kernel("asm(\"trap;\");"), "asm-trap"},
      {in_kernel("asm volatile(\"tr\" \"ap;\");"), "asm-trap"},
      {in_kernel("__asm__ __volatile__ (\"@p trap;\" ::: \"memory\");"), "asm-trap"},
      {in_kernel("asm(\"\\x74rap;\");"), "asm-trap"},
      {in_kernel("asm(\"\\164rap;\");"), "asm-trap"},
      {in_kernel("asm(R\"(trap;)\");"), "asm-trap"},
      {in_kernel("asm(R\"x(brk)x\" \"pt;\");"), "asm-trap"},
      {"#define T \"exit;\"\n" + in_kernel("asm volatile(T);"), "asm-trap"},
      {"#define S(x) #x\n" + in_kernel("asm(S(trap;));"), "asm-trap"},
      {"#define MY_ASM asm\n" + in_kernel("MY_ASM(\"trap;\");"), "asm-trap"},
      {in_kernel("int t; asm volatile(\"mov.u32 %0, %clock;\" : \"=r\"(t));"), "asm-timer"},
      {in_kernel("long t; asm volatile(\"mov.u64 %0, %%clock64;\" : \"=l\"(t));"), "asm-timer"},
      {in_kernel("long t; asm(\"mov.u64 %0, %%global\" \"timer;\" : \"=l\"(t));"), "asm-timer"},
      {in_kernel("int t; asm(\"mov.u32 %0, %%smid;\" : \"=r\"(t));"), "asm-placement", Severity::warning},
      {in_kernel("asm(\"nanosleep.u32 100;\");"), "asm-sleep"},
      {in_kernel("asm(\"pmevent 1;\");"), "asm-timer"},
      {in_kernel("asm(\".pragma \\\"nounroll\\\";\");"), "asm-directive"},
      {in_kernel("asm(\".section .debug { }\");"), "asm-directive"},
      {in_kernel("asm(\"ld.global.L2::evict_last.f32 %0, [%1];\" : \"=f\"(y[0]) : \"l\"(x));"), "l2-persistence"},
      {in_kernel("asm(\"createpolicy.fractional.L2::evict_last.b64 %0, 1.0;\" : \"=l\"(n));"), "l2-persistence"},
      {in_kernel("asm(\"applypriority.global.L2::evict_normal [%0], 128;\" :: \"l\"(x));"), "l2-persistence"},
      {in_kernel("asm(\"discard.global.L2 [%0], 128;\" :: \"l\"(x));"), "asm-cache"},
      {in_kernel("asm(\"griddepcontrol.wait;\");"), "grid-dependency"},
      {in_kernel("asm(\"call vprintf, (%0);\" :: \"l\"(x));"), "asm-call"},
      {in_kernel("asm(\"%0;\" :: \"C\"(text));"), "asm-syntax"},
      {in_kernel("asm(make_text());"), "asm-syntax"},
      {in_kernel("asm goto(\"bra %l0;\" : : : : out); out:;"), "asm-syntax"},
      {in_kernel("asm(\"mov.u32 %0, %%laneid; // trap\" : \"=r\"(n));"), ""},
      {in_kernel("asm volatile(\"prefetch.global.L2 [%0];\" :: \"l\"(x) : \"memory\");"), ""},
      {in_kernel("asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16;\" :: \"r\"(n), \"l\"(x));"), ""},
      {in_kernel("asm(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0}, {%1};\" : \"=f\"(y[0]) : \"r\"(n));"),
       ""},
      {in_kernel("int asm_count = 1; const char* s = \"asm(trap;)\";"), ""},
  });
}

TEST(Rules, ConditionalMacrosCannotHideCombinations) {
  const std::string two =
      "#if X\n#define A pri\n#else\n#define A foo\n#endif\n"
      "#if Y\n#define B bar\n#else\n#define B ntf\n#endif\n"
      "#define CAT_(a, b) a##b\n#define CAT(a, b) CAT_(a, b)\n";
  expect_cases({
      {two + in_kernel("CAT(A, B)(\"x\");"), "macro-conditional"},
      {"#if X\n#define A pri\n#else\n#define A foo\n#endif\n#if Y\n#define B bar\n#else\n#define B ntf\n#endif\n"
       "#define LOG(format, ...) show(format, ##__VA_ARGS__)\n" +
           in_kernel("A; B;"),
       ""},
      {"#if X\n#define A \"tr\"\n#else\n#define A \"x\"\n#endif\n#if Y\n#define B \"y\"\n#else\n#define B \"ap;\"\n"
       "#endif\n" +
           in_kernel("asm(A B);"),
       "macro-conditional"},
      {"#if X\n#define A pri\n#define B ntf\n#else\n#define A foo\n#define B bar\n#endif\n"
       "#define CAT_(a, b) a##b\n#define CAT(a, b) CAT_(a, b)\n" +
           in_kernel("CAT(A, B)(\"x\");"),
       "device-printf", Severity::warning},
      {"#ifdef HALF\n#define SUFFIX h\n#else\n#define SUFFIX f\n#endif\n#ifndef TILE\n#define TILE 32\n#endif\n"
       "#define CAT_(a, b) a##b\n#define CAT(a, b) CAT_(a, b)\n__device__ int CAT(kernel_, SUFFIX)() { return TILE; "
       "}\n",
       ""},
      {"#define X(n) __device__ int f_##n() { return n; }\nX(1)\nX(2)\n#undef X\n#define X(n) f_##n()\n" +
           in_kernel("y[0] = X(1) + X(2);"),
       ""},
  });
}

TEST(Rules, MacroBombsEndWithAFinding) {
  std::string bomb = "#define A0 x x x x x x x x x x\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "A" + std::to_string(i - 1);
    bomb += "#define A" + std::to_string(i);
    for (int k = 0; k < 10; ++k) bomb += " " + before;
    bomb += "\n";
  }
  expect_cases({{bomb + "A11\n", "macro-expansion"}, {"#define F(x) x\n" + in_kernel("F(1"), "macro-expansion"}});
  // What follows the bomb is still read.
  EXPECT_TRUE(contains(check_rules(bomb + "A11\n" + in_kernel("__brkpt();"), "k.cu"), "device-trap", Severity::error));
}

TEST(Rules, HiddenAndMalformedText) {
  expect_cases({
      {in_kernel("/* \xE2\x80\xAE */ y[0] = 0;"), "hidden-character"},
      {in_kernel("y[0] = 0;\xE2\x80\x8B"), "hidden-character"},
      {"\xEF\xBB\xBF" + in_kernel(""), "hidden-character"},
      {in_kernel("// comment \r y[0] = 1;"), "hidden-character"},
      {in_kernel("y[0] = 0; \x01"), "hidden-character"},
      {in_kernel(std::string("y[0] = 0; \0", 11)), "malformed-text"},
      {in_kernel("\xFF\xFE"), "malformed-text"},
      {in_kernel("\\u0070rintf(\"x\");"), "stray-character"},
      {in_kernel("const char* s = \"open"), "malformed-text"},
      {in_kernel("/* open"), "malformed-text"},
      {"#if 0\nR\"(\n#endif\n__global__ void k() { __trap(); }\n#if 0\n)\"\n#endif\n", "raw-string"},
      {"#define A R\"(\n)\"\n", "raw-string"},
      {in_kernel("asm(R\"(\n  mov.u32 %0, %%laneid;\n)\" : \"=r\"(n));"), ""},
      {in_kernel("int b<:3:>;"), "digraph"},
      {"__global__ void k() <% %>\n", "digraph"},
      {in_kernel("// ?\?/\ny[0] = 1;"), "trigraph"},
      {in_kernel("int \xD0\xB0 = 1;"), "non-ascii-name", Severity::warning},
      {in_kernel("// größer als β\r\nint a = n ? 1 : 2; a <<= 1; bool b = n<::n;"), ""},
  });
}

TEST(Rules, StateThatSurvivesALaunch) {
  expect_cases({
      {"__device__ int calls;\n" + in_kernel("if (calls++ == 0) y[0] = 1;"), "persistent-state", Severity::warning},
      {"__device__ float cache[1024];\n" + in_kernel("cache[n] = x[n];"), "persistent-state", Severity::warning},
      {"__device__ unsigned counter;\n" + in_kernel("atomicAdd(&counter, 1u);"), "persistent-state", Severity::warning},
      {"#define STATE __device__\nSTATE int calls;\n" + in_kernel("calls += 1;"), "persistent-state",
       Severity::warning},
      {in_kernel("static int calls; ++calls;"), "persistent-state", Severity::warning},
      {"template <int N> __device__ int calls;\n" + in_kernel("calls<3> = 1; ++calls<3>;"), "persistent-state",
       Severity::warning},
      {"struct S { static __device__ int calls; };\n" + in_kernel("S::calls += 1;"), "persistent-state",
       Severity::warning},
      {in_launcher("static bool done = false; if (done) return; done = true;"), "host-state", Severity::warning},
      {"static int calls = 0;\n" + in_launcher("++calls;"), "host-state", Severity::warning},
      {"int f();\nstatic int calls = f();\n", "static-constructor"},
      {"struct Hook { Hook(); };\nstatic Hook hook;\n", "static-constructor"},
      {"struct Hook { Hook(int); };\nHook hook(3);\n", "static-constructor"},
      {"int x = [] { return 1; }();\n", "static-constructor"},
      {"extern \"C\" __device__ float expf(float x) { return 0; }\n", "library-redefinition"},
      {"__device__ float __nv_expf(float x) { return 0; }\n", "library-redefinition"},
      {"__device__ float big[1 << 30];\n", "giant-array"},
      {"#define N 100000\n__device__ float big[N][N];\n", "giant-array"},
      {in_kernel("float* p = (float*)0x7f0000000000;"), "fabricated-pointer"},
      {in_kernel("auto p = reinterpret_cast<float*>(0x7f0000000000ull);"), "fabricated-pointer"},
      {in_kernel("float* p = (float*)0; float q = n * (n) * 2;"), ""},
      {"constexpr int kTile = 32;\nconst int n = 3;\n__constant__ float table[64];\n", ""},
      {"struct P { int a; float b[4]; };\nenum class E { a, b };\nusing T = float;\ntypedef int I;\n", ""},
  });
  // Only read: a table, no state.
  const auto table = check_rules("__device__ const int t[2] = {1, 2};\n" + in_kernel("y[0] = t[n];"), "k.cu");
  EXPECT_TRUE(table.empty()) << all(table);
  const auto shared = check_rules(in_kernel("static __shared__ float s[32]; s[n] = 1;"), "k.cu");
  EXPECT_TRUE(shared.empty()) << all(shared);
}

TEST(Rules, FindingsPointAtTheUsersLine) {
  const auto findings = check_rules("int f(int a);\n" + in_kernel("  int a;\n  printf(\"x\");"), "k.cu");
  ASSERT_EQ(findings.size(), 1u) << all(findings);
  EXPECT_EQ(findings[0].where, (Position{"k.cu", 4, 3}));
  EXPECT_EQ(to_string(findings[0]),
            "k.cu:4:3: warning: printf prints from the kernel [device-printf] (remove the output)");
}

TEST(Rules, OutputChannelsAreNoStream) {
  const std::string head = "extern \"C\" void launch(float* y, int cout, cudaStream_t stream) {\n";
  EXPECT_TRUE(check_rules(head + "  int blocks = (cout + 255) / 256;\n}\n", "k.cu").empty());
  for (const char* line : {"std::cout", "cout << 1;", "x << endl;"}) {
    const auto findings = check_rules(head + "  " + line + "\n}\n", "k.cu");
    ASSERT_FALSE(findings.empty()) << line;
    EXPECT_EQ(findings[0].rule, "host-output") << line;
  }
}

TEST(Rules, AFloodOfFindingsIsBounded) {
  std::string body;
  for (int i = 0; i < 1000; ++i) body += "int t; asm(\"mov.u32 %0, %%smid;\" : \"=r\"(t));\n";
  const auto findings = check_rules(in_kernel(body + "asm(\"trap;\");"), "k.cu");
  EXPECT_EQ(findings.size(), max_findings_of_a_rule + 1) << all(findings);
  EXPECT_TRUE(has_error(findings));
}

}  // namespace
}  // namespace kw
