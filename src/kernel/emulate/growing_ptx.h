#pragma once
// For tests and benchmarks: PTX with as many pieces of one kind as wanted. Each has made some parser need time that
// grows with the square of what it reads.

#include <string>
#include <string_view>
#include <vector>

namespace kw {

inline constexpr std::string_view ptx_head = ".version 9.0\n.target sm_80\n.address_size 64\n";

inline std::string ptx_in_kernel(std::string_view body) {
  return std::string(ptx_head) + ".entry k(.param .u64 a)\n{\n.reg .pred %p<5>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n" +
         std::string(body) + "\n}\n";
}

inline std::string repeated_ptx(std::string_view text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

struct GrowingPtx {
  const char* name;
  std::string (*of_pieces)(std::size_t);
  bool is_ptx;
};

inline std::vector<GrowingPtx> growing_ptx() {
  return {
      {"instructions", [](std::size_t n) { return ptx_in_kernel(repeated_ptx("add.s32 %r1, %r2, %r3;\n", n)); }, true},
      {"scopes with labels", [](std::size_t n) { return ptx_in_kernel(repeated_ptx("{ L: bra L; }\n", n)); }, true},
      {"forward branches",
       [](std::size_t n) { return ptx_in_kernel(repeated_ptx("{{{{{{{{ bra E; }}}}}}}}\n", n) + "E: ret;"); }, true},
      {"shadowed names",
       [](std::size_t n) {
         return ptx_in_kernel(repeated_ptx("{ .reg .b32 x; .param .b32 y; mov.b32 x, y; }\n", n / 4));
       },
       true},
      {"inlined places",
       [](std::size_t n) {
         return ptx_in_kernel(repeated_ptx(".loc 2 1 1, function_name f, inlined_at 2 1 1\nret;\n", n));
       },
       true},
      {"one long line", [](std::size_t n) { return ptx_in_kernel(repeated_ptx("ret; ", n) + "?"); }, false},
      {"comments before colons", [](std::size_t n) { return ptx_in_kernel(repeated_ptx("ret /* x */ ; ", n)); }, true},
      {"empty lists",
       [](std::size_t n) {
         return std::string(ptx_head) + ".global .b8 x[100000000] = {" + repeated_ptx("0,", n) + "0};";
       },
       true},
      {"small functions",
       [](std::size_t n) {
         std::string all = ptx_in_kernel(repeated_ptx("{ .reg .b32 a; }\n", n / 4));
         for (std::size_t i = 0; i < n / 10; ++i) all += ".func f" + std::to_string(i) + "() { ret; }\n";
         return all;
       },
       true},
  };
}

}  // namespace kw
