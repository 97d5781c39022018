// Two ways to load a fragment, which must be one.

#include "kernel/emulate/test_kernel.h"

namespace kw {
namespace {

// What a load of a fragment brings. Who looks for races looks at each element by itself, at others' rows too;
// otherwise a matrix is read as a whole.
struct LoadedFragment {
  std::vector<std::uint32_t> registers;
  std::uint64_t undefined = 0;
  std::string findings;
};

LoadedFragment load_fragment_of(const std::string& layout, bool shared, std::uint32_t stride, bool one_by_one) {
  const std::string load = "wmma.load.a.sync.aligned." + layout + ".m16n16k16." + (shared ? "shared" : "global") +
                           ".f16 {%r20,%r21,%r22,%r23,%r24,%r25,%r26,%r27}, [" + (shared ? "%r12" : "%rd10") +
                           "], %r10;\n";
  std::string body = "cvta.to.global.u64 %rd10, %rd2;\nmov.u32 %r10, " + std::to_string(stride) + ";\n";
  if (shared) {
    body +=
        "mov.u32 %r12, tile;\nshl.b32 %r13, %r2, 2;\nadd.u32 %r14, %r12, %r13;\ncvt.u64.u32 %rd11, %r13;\n"
        "add.s64 %rd12, %rd10, %rd11;\n";
    // Not all of it: the rest is undefined.
    for (int i = 0; i < 7; ++i)
      body += "ld.global.u32 %r15, [%rd12+" + std::to_string(128 * i) + "];\nst.shared.u32 [%r14+" +
              std::to_string(128 * i) + "], %r15;\n";
    body += "bar.sync 0;\n";
  }
  body += load + "shl.b32 %r16, %r2, 5;\ncvt.u64.u32 %rd13, %r16;\nadd.s64 %rd14, %rd10, %rd13;\n";
  for (int i = 0; i < 8; ++i)
    body += "st.global.u32 [%rd14+" + std::to_string(8192 + 4 * i) + "], %r2" + std::to_string(i) + ";\n";
  TestKernel kernel(body, ".shared .align 32 .b8 tile[2048];\n");
  kernel.output(8192 + 1024);
  std::string known(900, '\0');
  for (std::size_t i = 0; i < known.size(); ++i) known[i] = static_cast<char>(i * 37 + i / 256);
  EXPECT_TRUE(kernel.memory.write(kernel.b(), known).ok());
  kernel.options.look_for_races = one_by_one;
  const RunResult ran = kernel.run();
  const std::string bytes = kernel.memory.read(kernel.b() + 8192, 1024).value();
  LoadedFragment loaded;
  loaded.registers.resize(256);
  std::memcpy(loaded.registers.data(), bytes.data(), bytes.size());
  loaded.undefined = kernel.memory.undefined(kernel.b() + 8192, 1024).value().count;
  loaded.findings = describe(ran);
  return loaded;
}

TEST(EngineWmmaLoad, AFragmentReadAsAWholeIsTheOneReadElementByElement) {
  for (const char* layout : {"row", "col"}) {
    for (const bool shared : {false, true}) {
      for (const std::uint32_t stride : {16u, 24u, 40u, 72u}) {  // the last ones reach what is undefined, or outside
        const LoadedFragment whole = load_fragment_of(layout, shared, stride, false);
        const LoadedFragment single = load_fragment_of(layout, shared, stride, true);
        EXPECT_EQ(whole.registers, single.registers) << layout << shared << stride;
        EXPECT_EQ(whole.undefined, single.undefined) << layout << shared << stride;
        EXPECT_EQ(whole.findings, single.findings) << layout << shared << stride;
        if (stride == 40) {
          EXPECT_GT(whole.undefined, 0u);
        }
      }
    }
  }
  EXPECT_NE(load_fragment_of("row", false, 16, false).registers, load_fragment_of("col", false, 16, false).registers);
}

}  // namespace
}  // namespace kw
