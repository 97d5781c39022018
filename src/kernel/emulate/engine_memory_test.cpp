// Loads, stores and atomics: values, and every check on addresses and undefined values.

#include <numeric>

#include "kernel/emulate/test_kernel.h"

namespace kw {
namespace {

// %rd10 = a + 4 * thread, %rd20 = b + 4 * thread
const std::string pointers =
    "cvta.to.global.u64 %rd8, %rd1;\nmul.wide.s32 %rd9, %r5, 4;\nadd.s64 %rd10, %rd8, %rd9;\ncvta.to.global.u64 %rd18, "
    "%rd2;\n"
    "add.s64 %rd20, %rd18, %rd9;\n";

std::vector<std::uint32_t> counting(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 1000u);
  return values;
}

TEST(EngineMemory, ReadBehindTheEnd) {
  TestKernel kernel(pointers + "L12:ld.global.u32 %r20, [%rd10+4];\nst.global.u32 [%rd20], %r20;\n");
  kernel.input(counting(32));
  kernel.output(128);
  RunResult result = kernel.run();
  ASSERT_TRUE(finds(result, FindingKind::out_of_bounds, 12));
  EXPECT_EQ(result.status, RunStatus::fault);
  EXPECT_EQ(result.findings[0].thread[0], 31u);
  EXPECT_EQ(result.findings[0].address, kernel.a() + 128);
  EXPECT_NE(result.findings[0].message.find("0 bytes behind the end of input a (128 bytes)"), std::string::npos)
      << describe(result);
  EXPECT_EQ(kernel.result<std::uint32_t>(1)[0], 1001u);  // the other lanes go on
}

TEST(EngineMemory, WriteBeforeTheStart) {
  TestKernel kernel(pointers + "L5:st.global.u32 [%rd20+-4], %r2;\n");
  kernel.output(128);
  RunResult result = kernel.run();
  ASSERT_TRUE(finds(result, FindingKind::out_of_bounds, 5));
  EXPECT_EQ(result.findings[0].thread[0], 0u);
}

TEST(EngineMemory, NullPointer) {
  TestKernel kernel(pointers + "L8:ld.global.u32 %r20, [%rd10];\n");
  EXPECT_TRUE(finds(kernel.run(), FindingKind::null_pointer, 8));
}

TEST(EngineMemory, UseAfterFree) {
  TestKernel kernel(pointers + "L8:ld.global.u32 %r20, [%rd10];\n");
  kernel.input(counting(32));
  ASSERT_TRUE(kernel.memory.free(kernel.a()).ok());
  EXPECT_TRUE(finds(kernel.run(), FindingKind::use_after_free, 8));
}

TEST(EngineMemory, InputsAreNotOverwritten) {
  TestKernel kernel(pointers + "L8:st.global.u32 [%rd10], %r2;\n");
  kernel.input(counting(32));
  EXPECT_TRUE(finds(kernel.run(), FindingKind::input_overwritten, 8));
  EXPECT_EQ(kernel.memory.read(kernel.a(), 4).value(), TestKernel::bytes_of_value(1000u));
}

TEST(EngineMemory, MisalignedVector) {
  TestKernel kernel(
      "cvta.to.global.u64 %rd8, %rd1;\nmul.wide.s32 %rd9, %r5, 16;\nadd.s64 %rd10, %rd8, %rd9;\n"
      "L4:ld.global.v4.u32 {%r20, %r21, %r22, %r23}, [%rd10+4];\n");
  kernel.input(counting(256));
  EXPECT_TRUE(finds(kernel.run(), FindingKind::misaligned, 4));
}

TEST(EngineMemory, VectorsOfAllWidths) {
  // b[4 * thread ..] = a[4 * thread ..] reversed
  TestKernel kernel(
      "cvta.to.global.u64 %rd8, %rd1;\ncvta.to.global.u64 %rd18, %rd2;\nmul.wide.s32 %rd9, %r5, 16;\nadd.s64 %rd10, "
      "%rd8, %rd9;\n"
      "add.s64 %rd20, %rd18, %rd9;\nld.global.v4.u32 {%r20, %r21, %r22, %r23}, [%rd10];\nst.global.v2.u32 [%rd20], "
      "{%r23, %r22};\n"
      "mov.b64 %rd30, {%r21, %r20};\nst.global.u64 [%rd20+8], %rd30;\n");
  std::vector<std::uint32_t> values = counting(128);
  kernel.input(values);
  kernel.output(512);
  ASSERT_TRUE(clean(kernel.run()));
  EXPECT_EQ(kernel.undefined_output(512), 0u);
  std::vector<std::uint32_t> reversed = kernel.result<std::uint32_t>(128);
  for (std::size_t i = 0; i < 128; ++i) EXPECT_EQ(reversed[i], values[i / 4 * 4 + 3 - i % 4]);
}

TEST(EngineMemory, NarrowTypesAreExtended) {
  TestKernel kernel(
      "cvta.to.global.u64 %rd8, %rd1;\ncvt.s64.s32 %rd9, %r5;\nadd.s64 %rd10, %rd8, %rd9;\nld.global.s8 %r10, "
      "[%rd10];\n"
      "ld.global.u8 %rs1, [%rd10];\nld.global.s8 %rs2, [%rd10];\ncvt.u32.u16 %r11, %rs1;\ncvt.u32.u16 %r12, %rs2;\n"
      "add.s32 %r20, %r10, %r11;\nadd.s32 %r20, %r20, %r12;\n" +
      store_r20);
  std::vector<std::int8_t> values(32);
  for (int i = 0; i < 32; ++i) values[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i * 9 - 128);
  kernel.input(values);
  kernel.output(128);
  ASSERT_TRUE(clean(kernel.run()));
  std::vector<std::uint32_t> words = kernel.result<std::uint32_t>(32);
  for (std::size_t i = 0; i < 32; ++i) {
    int value = values[i];
    EXPECT_EQ(words[i],
              static_cast<std::uint32_t>(value) + static_cast<std::uint8_t>(value) + static_cast<std::uint16_t>(value));
  }
}

TEST(EngineMemory, StridedGatherAndScatter) {
  // b[31 - thread] = a[7 * thread % 32]
  TestKernel kernel(
      "cvta.to.global.u64 %rd8, %rd1;\ncvta.to.global.u64 %rd18, %rd2;\nmul.lo.s32 %r10, %r2, 7;\nand.b32 %r10, %r10, "
      "31;\n"
      "mul.wide.s32 %rd9, %r10, 4;\nadd.s64 %rd10, %rd8, %rd9;\nld.global.u32 %r11, [%rd10];\nsub.s32 %r12, 31, %r2;\n"
      "mul.wide.s32 %rd19, %r12, 4;\nadd.s64 %rd20, %rd18, %rd19;\nst.global.u32 [%rd20], %r11;\n");
  kernel.input(counting(32));
  kernel.output(128);
  ASSERT_TRUE(clean(kernel.run()));
  std::vector<std::uint32_t> words = kernel.result<std::uint32_t>(32);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(words[31 - i], 1000 + 7 * i % 32);
}

TEST(EngineMemory, UndefinedOutputIsSeenAtTheEndNotAtTheLoad) {
  // Copies b[thread + 32], which nobody wrote, to b[thread].
  TestKernel kernel(pointers + "L3:ld.global.u32 %r10, [%rd20+128];\nL4:st.global.u32 [%rd20], %r10;\n");
  kernel.output(256);
  ASSERT_TRUE(clean(kernel.run()));
  UndefinedBytes undefined = kernel.memory.undefined(kernel.b(), 128).value();
  EXPECT_EQ(undefined.count, 128u);
  EXPECT_EQ(undefined.line, 4u);
  EXPECT_EQ(kernel.memory.undefined(kernel.b(), 256).value().count, 256u);
}

TEST(EngineMemory, UndefinedValuesThatAreNotChosenDoNoHarm) {
  TestKernel kernel("setp.lt.s32 %p1, %r2, 64;\nselp.b32 %r20, %r2, %r40, %p1;\n" + store_r20);
  kernel.output(128);
  ASSERT_TRUE(clean(kernel.run()));
  EXPECT_EQ(kernel.undefined_output(128), 0u);
}

TEST(EngineMemory, UndefinedAddress) {
  TestKernel kernel("L3:ld.global.u32 %r20, [%rd50];\n");
  RunResult result = kernel.run();
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].kind, FindingKind::uninitialised_address);
  EXPECT_EQ(result.findings[0].line, 3u);
}

TEST(EngineMemory, SharedOverflowIntoTheNextArray) {
  std::string body =
      "mov.u32 %r10, first;\nshl.b32 %r11, %r2, 2;\nadd.s32 %r12, %r10, %r11;\nst.shared.u32 [%r12], %r2;\n"
      "L7:ld.shared.u32 %r20, [%r12+OFFSET];\n" +
      store_r20;
  std::string arrays = ".shared .align 4 .b8 first[128];\n.shared .align 4 .b8 second[128];\n";
  std::string use_second = "mov.u32 %r30, second;\n";
  std::string good = body, bad = body;
  good.replace(good.find("OFFSET"), 6, "0");
  bad.replace(bad.find("OFFSET"), 6, "4");
  TestKernel correct(use_second + good, arrays);
  correct.output(128);
  EXPECT_TRUE(clean(correct.run()));
  TestKernel overflow(use_second + bad, arrays);
  overflow.output(128);
  RunResult result = overflow.run();
  bool found = false;
  for (const EmulatorFinding& finding : result.findings)
    found |= finding.kind == FindingKind::out_of_bounds && finding.line == 7 &&
             finding.message.find("behind the end of first") != std::string::npos;
  EXPECT_TRUE(found) << describe(result);
}

TEST(EngineMemory, DynamicSharedMemoryEndsWhereTheLaunchSays) {
  std::string body =
      "mov.u32 %r10, dynamic;\nshl.b32 %r11, %r2, 2;\nadd.s32 %r12, %r10, %r11;\nL6:st.shared.u32 [%r12], %r2;\n"
      "ld.shared.u32 %r20, [%r12];\n" +
      store_r20;
  TestKernel kernel(body, ".extern .shared .align 16 .b8 dynamic[];\n");
  kernel.output(128);
  kernel.arguments.dynamic_shared_bytes = 128;
  EXPECT_TRUE(clean(kernel.run()));
  kernel.arguments.dynamic_shared_bytes = 124;
  RunResult result = kernel.run();
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].kind, FindingKind::out_of_bounds);
  EXPECT_EQ(result.findings[0].line, 6u);
  EXPECT_EQ(result.findings[0].thread[0], 31u);
}

TEST(EngineMemory, LocalArraysWithGenericAddresses) {
  // local[i] = i * thread for i in 0 .. 3, then local[thread & 3] through a generic pointer.
  std::string body = ".local .align 16 .b8 depot[16];\nmov.u64 %rd30, depot;\ncvta.local.u64 %rd31, %rd30;\n";
  for (int i = 0; i < 4; ++i)
    body +=
        "mul.lo.s32 %r10, %r2, " + std::to_string(i) + ";\nst.local.u32 [%rd30+" + std::to_string(4 * i) + "], %r10;\n";
  std::string load = "and.b32 %r11, %r2, 3;\nmul.wide.s32 %rd32, %r11, 4;\nadd.s64 %rd33, %rd31, %rd32;\n";
  TestKernel kernel(body + load + "ld.u32 %r20, [%rd33];\n" + store_r20);
  kernel.output(128);
  ASSERT_TRUE(clean(kernel.run()));
  std::vector<std::uint32_t> words = kernel.result<std::uint32_t>(32);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(words[i], i * (i & 3));

  TestKernel overflow(body + load + "L9:ld.u32 %r20, [%rd33+8];\n" + store_r20);
  overflow.output(128);
  EXPECT_TRUE(finds(overflow.run(), FindingKind::out_of_bounds, 9));
}

TEST(EngineMemory, ConstantsAndVariablesWithAddresses) {
  TestKernel kernel(
      "mov.u64 %rd10, table;\nand.b32 %r10, %r2, 3;\nmul.wide.s32 %rd11, %r10, 4;\nadd.s64 %rd12, %rd10, %rd11;\n"
      "ld.const.u32 %r11, [%rd12];\nld.global.u64 %rd13, [pointer];\nld.global.u32 %r12, [%rd13+4];\nadd.s32 %r20, "
      "%r11, %r12;\n" +
          store_r20,
      ".const .align 4 .u32 table[4] = {5, 6, 7, 8};\n.global .align 4 .u32 numbers[2] = {100, 200};\n.global .align 8 "
      ".u64 pointer[1] = {numbers};\n");
  kernel.output(128);
  ASSERT_TRUE(clean(kernel.run()));
  EXPECT_EQ(kernel.result<std::uint32_t>(4), (std::vector<std::uint32_t>{205, 206, 207, 208}));
}

TEST(EngineMemory, AtomicsReturnTheOldValue) {
  TestKernel kernel(
      "cvta.to.global.u64 %rd8, %rd2;\natom.global.add.u32 %r10, [%rd8+128], 3;\nred.global.max.s32 [%rd8+132], %r2;\n"
      "atom.global.cas.b32 %r11, [%rd8+136], 7, 9;\natom.global.inc.u32 %r12, [%rd8+140], 2;\nred.global.add.f32 "
      "[%rd8+144], 0f3F000000;\n"
      "add.s32 %r20, %r10, 0;\n" +
      store_r20);
  kernel.in_out(std::vector<std::uint32_t>(37, 0));
  ASSERT_TRUE(clean(kernel.run()));
  std::vector<std::uint32_t> words = kernel.result<std::uint32_t>(37);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(words[i], 3 * i);
  EXPECT_EQ(words[32], 96u);
  EXPECT_EQ(words[33], 31u);
  EXPECT_EQ(words[34], 0u);
  EXPECT_EQ(words[35], 32u % 3);
  EXPECT_EQ(words[36], 0x41800000u);  // 16
}

TEST(EngineMemory, AsynchronousCopiesArriveWhenTheyAreWaitedFor) {
  std::string copy =
      "cvta.to.global.u64 %rd8, %rd1;\nmul.wide.s32 %rd9, %r2, 16;\nadd.s64 %rd10, %rd8, %rd9;\nmov.u32 %r10, "
      "tile;\nshl.b32 %r11, %r2, 4;\n"
      "add.s32 %r12, %r10, %r11;\ncp.async.cg.shared.global [%r12], [%rd10], 16;\ncp.async.commit_group;\n";
  std::string wait = "cp.async.wait_group 0;\n";
  std::string use =
      "bar.sync 0;\nmov.u32 %r13, 31;\nsub.s32 %r13, %r13, %r2;\nshl.b32 %r13, %r13, 4;\nadd.s32 %r14, %r10, %r13;\n"
      "ld.shared.u32 %r20, [%r14];\n" +
      store_r20;
  std::string tile = ".shared .align 16 .b8 tile[512];\n";
  TestKernel kernel(copy + wait + use, tile);
  kernel.input(counting(128));
  kernel.output(128);
  ASSERT_TRUE(clean(kernel.run()));
  std::vector<std::uint32_t> words = kernel.result<std::uint32_t>(32);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(words[i], 1000 + 4 * (31 - i));
  EXPECT_EQ(kernel.undefined_output(128), 0u);

  TestKernel forgotten(copy + use, tile);
  forgotten.input(counting(128));
  forgotten.output(128);
  EXPECT_EQ(forgotten.run().status, RunStatus::race);
}

}  // namespace
}  // namespace kw
