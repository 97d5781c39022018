// The places of shared variables. The expected ones are what ptxas 13.0 wrote into cubins for sm_90 and sm_80 for the
// same declarations.
#include "kernel/emulate/shared_layout.h"

#include "kernel/emulate/test_kernel.h"

namespace kw {
namespace {

// The address of each named variable, as the kernel sees it.
std::vector<std::uint32_t> addresses(const std::string& declarations, const std::vector<std::string>& names,
                                     const std::string& target, std::uint32_t dynamic_bytes = 0) {
  std::string body = "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra $END;\n";
  for (std::size_t i = 0; i < names.size(); ++i)
    body += "mov.u32 %r20, " + names[i] + ";\nst.global.u32 [%rd2+" + std::to_string(4 * i) + "], %r20;\n";
  TestKernel kernel(body + "$END:\n", declarations, target);
  kernel.output(4 * names.size());
  kernel.arguments.dynamic_shared_bytes = dynamic_bytes;
  EXPECT_TRUE(clean(kernel.run()));
  return kernel.result<std::uint32_t>(names.size());
}

const std::string several =
    ".shared .align 1 .b8 c[1];\n.shared .align 4 .b8 a[20];\n.shared .align 64 .b8 z[64];\n.shared .align 8 .f64 d;\n"
    ".shared .align 1 .b8 e[2];\n.extern .shared .align 16 .b8 dynamic[];\n";

TEST(SharedLayout, AlignedAsOnTheGpuAndNotMore) {
  const std::vector<std::uint32_t> real{0x0, 0x4, 0x40, 0x80, 0x88, 0x90};
  for (const std::string target : {"sm_90", "sm_80"}) {
    const auto made = addresses(several, {"c", "a", "z", "d", "e", "dynamic"}, target, 256);
    ASSERT_EQ(made.size(), real.size());
    for (std::size_t i = 0; i < real.size(); ++i) EXPECT_EQ(made[i] % shared_period_bytes, real[i]) << target << i;
    EXPECT_EQ(made[0], target == "sm_90" ? 1024u : 0u);
    for (std::size_t i = 1; i < made.size(); ++i) EXPECT_GT(made[i], made[i - 1]);
  }
}

TEST(SharedLayout, DynamicMemoryIsAlignedAsTheModuleAsks) {
  const auto dynamic = [&](const std::string& declarations) {
    return addresses(".shared .align 1 .b8 x[3];\n" + declarations, {"x", "dynamic"}, "sm_90", 64)[1] % 1024;
  };
  EXPECT_EQ(dynamic(".extern .shared .align 4 .b8 dynamic[];\n"), 16u);
  EXPECT_EQ(dynamic(".extern .shared .align 128 .b8 dynamic[];\n"), 128u);
  EXPECT_EQ(dynamic(".extern .shared .align 1024 .b8 dynamic[];\n"), 0u);
  EXPECT_EQ(dynamic(".extern .shared .align 256 .b8 other[];\n.extern .shared .align 16 .b8 dynamic[];\n"), 256u);
}

TEST(SharedLayout, AnArrayBehindAnOddOneIsNotAlignedToVectors) {
  // The second array lies behind 33 floats: at 132, which is no multiple of 16.
  const std::string declarations = ".shared .align 4 .b8 one[132];\n.shared .align 4 .b8 two[132];\n";
  const std::string body =
      "mov.u32 %r11, one;\nst.shared.u32 [%r11+128], %r2;\nmov.u32 %r10, NAME;\nL5:st.shared.v4.u32 [%r10], {%r2, %r2, "
      "%r2, %r2};\n";
  const auto run = [&](const std::string& name) {
    std::string text = body;
    text.replace(text.find("NAME"), 4, name);
    TestKernel kernel("setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\n" + text, declarations, "sm_90");
    kernel.arguments.block = {1, 1, 1};
    return kernel.run();
  };
  EXPECT_TRUE(clean(run("one")));
  EXPECT_TRUE(finds(run("two"), FindingKind::misaligned, 5));
}

TEST(SharedLayout, TheSystemsPartIsNobodys) {
  TestKernel kernel("mov.u32 %r10, 512;\nL5:ld.shared.u32 %r20, [%r10];\n", ".shared .align 4 .b8 x[2048];\n", "sm_90");
  EXPECT_TRUE(finds(kernel.run(), FindingKind::out_of_bounds, 5));
}

TEST(SharedLayout, SpecialRegisters) {
  // PTX ISA 9.0, 10.28 %reserved_smem_offset, 10.29 %total_smem_size, 10.30 %aggr_smem_size, 10.31 %dynamic_smem_size.
  const std::vector<std::string> names{"%reserved_smem_offset_begin",
                                       "%reserved_smem_offset_end",
                                       "%reserved_smem_offset_cap",
                                       "%total_smem_size",
                                       "%aggr_smem_size",
                                       "%dynamic_smem_size"};
  const auto made = addresses(several, names, "sm_90", 100);
  EXPECT_EQ(made, (std::vector<std::uint32_t>{0, 1024, 1024, 128, 1152, 100}));
}

TEST(SharedLayout, GenericAddressesGoBothWays) {
  TestKernel kernel(
      "mov.u32 %r10, x;\nshl.b32 %r11, %r2, 2;\nadd.u32 %r10, %r10, %r11;\nst.shared.u32 [%r10], %r2;\n"
      "cvt.u64.u32 %rd10, %r10;\ncvta.shared.u64 %rd11, %rd10;\nld.u32 %r20, [%rd11];\n"
      "cvta.to.shared.u64 %rd12, %rd11;\ncvt.u32.u64 %r12, %rd12;\nsub.u32 %r12, %r12, %r10;\n"
      "add.u32 %r20, %r20, %r12;\n" +
          store_r20,
      ".shared .align 4 .b8 y[4];\n.shared .align 4 .b8 x[128];\n", "sm_90");
  kernel.output(128);
  EXPECT_TRUE(clean(kernel.run()));
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(kernel.result<std::uint32_t>(32)[lane], lane);
}

}  // namespace
}  // namespace kw
