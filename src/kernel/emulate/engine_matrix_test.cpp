// Matrix instructions against a plain product. The fragments are filled and read as the PTX ISA's tables say, written
// out here once more element by element.

#include <bit>
#include <cmath>

#include "kernel/emulate/half_float.h"
#include "kernel/emulate/test_kernel.h"

namespace kw {
namespace {

// Loads `count` words of a[lane * count ...] into %r20 and following, and stores %r40 ... likewise.
std::string load_fragment(int count, int first_register, int offset_words) {
  std::string text = "cvta.to.global.u64 %rd8, %rd1;\nmul.wide.s32 %rd9, %r2, " + std::to_string(4 * count) +
                     ";\nadd.s64 %rd10, %rd8, %rd9;\n";
  for (int i = 0; i < count; ++i)
    text += "ld.global.u32 %r" + std::to_string(first_register + i) + ", [%rd10+" +
            std::to_string(4 * (offset_words + i)) + "];\n";
  return text;
}
std::string store_fragment(int count, int first_register) {
  std::string text = "cvta.to.global.u64 %rd18, %rd2;\nmul.wide.s32 %rd19, %r2, " + std::to_string(4 * count) +
                     ";\nadd.s64 %rd20, %rd18, %rd19;\n";
  for (int i = 0; i < count; ++i)
    text += "st.global.u32 [%rd20+" + std::to_string(4 * i) + "], %r" + std::to_string(first_register + i) + ";\n";
  return text;
}

float value_a(int row, int column) { return static_cast<float>((row * 7 + column * 3) % 11 - 5); }
float value_b(int row, int column) { return static_cast<float>((row * 5 + column * 2) % 13 - 6) * 0.5f; }

TEST(EngineMatrix, MmaOfHalvesAndBfloats) {
  for (bool bfloat : {false, true}) {
    auto bits = [&](float value) {
      return std::uint32_t{bfloat ? bfloat16_from_float(value) : half_from_float(value)};
    };
    std::vector<std::uint32_t> words(32 * 6);
    for (int lane = 0; lane < 32; ++lane) {
      int group = lane / 4, member = lane % 4;
      auto pair_a = [&](int row, int column) {
        return bits(value_a(row, column)) | bits(value_a(row, column + 1)) << 16;
      };
      auto pair_b = [&](int row, int column) {
        return bits(value_b(row, column)) | bits(value_b(row + 1, column)) << 16;
      };
      words[static_cast<std::size_t>(lane * 4 + 0)] = pair_a(group, member * 2);
      words[static_cast<std::size_t>(lane * 4 + 1)] = pair_a(group + 8, member * 2);
      words[static_cast<std::size_t>(lane * 4 + 2)] = pair_a(group, member * 2 + 8);
      words[static_cast<std::size_t>(lane * 4 + 3)] = pair_a(group + 8, member * 2 + 8);
      words[static_cast<std::size_t>(128 + lane * 2 + 0)] = pair_b(member * 2, group);
      words[static_cast<std::size_t>(128 + lane * 2 + 1)] = pair_b(member * 2 + 8, group);
    }
    std::string type = bfloat ? "bf16" : "f16";
    TestKernel kernel(load_fragment(4, 20, 0) + load_fragment(2, 24, 128) +
                      "mov.b32 %r30, 0;\n"
                      "mma.sync.aligned.m16n8k16.row.col.f32." +
                      type + "." + type +
                      ".f32 {%f1,%f2,%f3,%f4}, {%r20,%r21,%r22,%r23}, {%r24,%r25}, "
                      "{0f3F800000,0f3F800000,0f3F800000,0f3F800000};\nmov.b32 %r40, %f1;\nmov.b32 %r41, %f2;\nmov.b32 "
                      "%r42, %f3;\nmov.b32 %r43, %f4;\n" +
                      store_fragment(4, 40));
    kernel.input(words);
    kernel.output(512);
    ASSERT_TRUE(clean(kernel.run()));
    std::vector<float> results = kernel.result<float>(128);
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) {
        int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
        float sum = 1;
        for (int k = 0; k < 16; ++k) sum += value_a(row, k) * value_b(k, column);
        EXPECT_EQ(results[static_cast<std::size_t>(lane * 4 + i)], sum) << row << " " << column;
      }
    }
  }
}

TEST(EngineMatrix, MmaOfBytes) {
  // m16n8k32: a has 4 registers of 4 bytes, b 2.
  auto byte_a = [](int row, int column) { return static_cast<std::int8_t>(row * 9 - column * 5); };
  auto byte_b = [](int row, int column) { return static_cast<std::int8_t>(row * 3 + column * 11 - 60); };
  std::vector<std::uint32_t> words(32 * 6, 0);
  for (int lane = 0; lane < 32; ++lane) {
    int group = lane / 4, member = lane % 4;
    for (int e = 0; e < 16; ++e) {
      int row = (e % 8) < 4 ? group : group + 8, column = member * 4 + e % 4 + (e >= 8 ? 16 : 0);
      words[static_cast<std::size_t>(lane * 4 + e / 4)] |= std::uint32_t{static_cast<std::uint8_t>(byte_a(row, column))}
                                                           << (8 * (e % 4));
    }
    for (int e = 0; e < 8; ++e) {
      int row = member * 4 + e % 4 + (e >= 4 ? 16 : 0);
      words[static_cast<std::size_t>(128 + lane * 2 + e / 4)] |=
          std::uint32_t{static_cast<std::uint8_t>(byte_b(row, group))} << (8 * (e % 4));
    }
  }
  TestKernel kernel(load_fragment(4, 20, 0) + load_fragment(2, 24, 128) +
                    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r40,%r41,%r42,%r43}, {%r20,%r21,%r22,%r23}, "
                    "{%r24,%r25}, {7,7,7,7};\n" +
                    store_fragment(4, 40));
  kernel.input(words);
  kernel.output(512);
  ASSERT_TRUE(clean(kernel.run()));
  std::vector<std::int32_t> results = kernel.result<std::int32_t>(128);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2, sum = 7;
      for (int k = 0; k < 32; ++k) sum += byte_a(row, k) * byte_b(k, column);
      EXPECT_EQ(results[static_cast<std::size_t>(lane * 4 + i)], sum);
    }
  }
}

TEST(EngineMatrix, WmmaLoadMultiplyStore) {
  // a row-major 16 x 16 at a, b column-major behind it; d row-major with a stride of 20.
  std::vector<std::uint16_t> halves(512);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) {
      halves[static_cast<std::size_t>(row * 16 + column)] = half_from_float(value_a(row, column));
      halves[static_cast<std::size_t>(256 + column * 16 + row)] = half_from_float(value_b(row, column));
    }
  }
  TestKernel kernel(
      "cvta.to.global.u64 %rd8, %rd1;\nadd.s64 %rd9, %rd8, 512;\ncvta.to.global.u64 %rd10, %rd2;\nmov.u32 %r10, "
      "16;\nmov.u32 %r11, 20;\n"
      "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r20,%r21,%r22,%r23,%r24,%r25,%r26,%r27}, [%rd8], %r10;\n"
      "wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%r30,%r31,%r32,%r33,%r34,%r35,%r36,%r37}, [%rd9], %r10;\n"
      "mov.f32 %f1, 0f00000000;\n"
      "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f10,%f11,%f12,%f13,%f14,%f15,%f16,%f17}, "
      "{%r20,%r21,%r22,%r23,%r24,%r25,%r26,%r27}, "
      "{%r30,%r31,%r32,%r33,%r34,%r35,%r36,%r37}, {%f1,%f1,%f1,%f1,%f1,%f1,%f1,%f1};\n"
      "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd10], {%f10,%f11,%f12,%f13,%f14,%f15,%f16,%f17}, %r11;\n");
  kernel.input(halves);
  kernel.output(4 * 320);
  ASSERT_TRUE(clean(kernel.run()));
  std::vector<float> results = kernel.result<float>(320);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) {
      float sum = 0;
      for (int k = 0; k < 16; ++k) sum += value_a(row, k) * value_b(k, column);
      EXPECT_EQ(results[static_cast<std::size_t>(row * 20 + column)], sum);
    }
  }
  EXPECT_EQ(kernel.undefined_output(4 * 320), 4u * 16 * 4);  // the padding
}

TEST(EngineMatrix, SumsOfHalvesAreRoundedOnce) {
  // c = 2048, a times b = 1 + 2^-13 spread over two of k: the sum lies just above the middle between 2048 and 2050,
  // where a float would lie on it.
  std::vector<std::uint16_t> halves(512, 0);
  for (std::size_t row = 0; row < 16; ++row) {
    halves[row * 16] = half_from_float(1.0f);
    halves[row * 16 + 1] = half_from_float(0.0078125f);
  }
  for (std::size_t column = 0; column < 16; ++column) {
    halves[256 + column * 16] = half_from_float(1.0f);
    halves[256 + column * 16 + 1] = half_from_float(0.0078125f);
  }
  const auto two_thousand = std::uint32_t{half_from_float(2048.0f)};
  TestKernel kernel(
      "cvta.to.global.u64 %rd8, %rd1;\nadd.s64 %rd9, %rd8, 512;\ncvta.to.global.u64 %rd10, %rd2;\n"
      "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r20,%r21,%r22,%r23,%r24,%r25,%r26,%r27}, [%rd8], 16;\n"
      "wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%r30,%r31,%r32,%r33,%r34,%r35,%r36,%r37}, [%rd9], 16;\n"
      "mov.b32 %r5, " +
      std::to_string(two_thousand | two_thousand << 16) +
      ";\nwmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {%r40,%r41,%r42,%r43}, "
      "{%r20,%r21,%r22,%r23,%r24,%r25,%r26,%r27}, {%r30,%r31,%r32,%r33,%r34,%r35,%r36,%r37}, {%r5,%r5,%r5,%r5};\n"
      "wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%rd10], {%r40,%r41,%r42,%r43}, 16;\n");
  kernel.input(halves);
  kernel.output(512);
  ASSERT_TRUE(clean(kernel.run()));
  for (const std::uint16_t each : kernel.result<std::uint16_t>(256)) EXPECT_EQ(each, half_from_float(2050.0f));
}

TEST(EngineMatrix, LdmatrixPlainAndTransposed) {
  // Row r, column c of matrix j holds 64 j + 8 r + c.
  for (bool transposed : {false, true}) {
    TestKernel kernel(
        "mov.u32 %r10, tile;\nshl.b32 %r11, %r2, 4;\nadd.s32 %r12, %r10, %r11;\ncvta.to.global.u64 %rd8, "
        "%rd1;\nmul.wide.s32 %rd9, %r2, 16;\n"
        "add.s64 %rd10, %rd8, %rd9;\nld.global.v4.u32 {%r20,%r21,%r22,%r23}, [%rd10];\nst.shared.v4.u32 [%r12], "
        "{%r20,%r21,%r22,%r23};\n"
        "bar.sync 0;\nldmatrix.sync.aligned.m8n8.x4" +
            std::string(transposed ? ".trans" : "") + ".shared.b16 {%r40,%r41,%r42,%r43}, [%r12];\n" +
            store_fragment(4, 40),
        ".shared .align 16 .b8 tile[512];\n");
    std::vector<std::uint16_t> numbers(256);
    for (std::size_t i = 0; i < 256; ++i) numbers[i] = static_cast<std::uint16_t>(i);
    kernel.input(numbers);
    kernel.output(512);
    ASSERT_TRUE(clean(kernel.run()));
    std::vector<std::uint16_t> results = kernel.result<std::uint16_t>(256);
    for (int lane = 0; lane < 32; ++lane) {
      for (int j = 0; j < 4; ++j) {
        for (int e = 0; e < 2; ++e) {
          int row = lane / 4, column = lane % 4 * 2 + e;
          int expected = transposed ? 64 * j + 8 * column + row : 64 * j + 8 * row + column;
          EXPECT_EQ(results[static_cast<std::size_t>((lane * 4 + j) * 2 + e)], expected);
        }
      }
    }
  }
}

TEST(EngineMatrix, AnUndefinedInputMakesItsRowAndColumnUndefined) {
  TestKernel kernel(
      "mov.u32 %r20, 0;\nmov.u32 %r21, 0;\nmov.u32 %r22, 0;\nsetp.eq.s32 %p1, %r2, 0;\n@!%p1 mov.u32 %r23, 0;\n"
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4}, {%r23,%r20,%r20,%r20}, {%r21,%r22}, "
      "{0f00000000,0f00000000,0f00000000,0f00000000};\nmov.b32 %r40, %f1;\nmov.b32 %r41, %f2;\nmov.b32 %r42, "
      "%f3;\nmov.b32 %r43, %f4;\n" +
      store_fragment(4, 40));
  kernel.output(512);
  kernel.run();
  EXPECT_EQ(kernel.undefined_output(512), 8u * 4);  // row 0 of the result
}

TEST(EngineMatrix, HalfPrecisionRoundTrips) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto half = static_cast<std::uint16_t>(bits);
    float value = float_from_half(half);
    if (std::isnan(value)) continue;
    EXPECT_EQ(half_from_float(value), half);
    if ((half & 0x7fff) < 0x7bff) {  // halfway to the next goes to the even one
      float next = float_from_half(static_cast<std::uint16_t>(half + 1));
      EXPECT_EQ(half_from_float((value + next) / 2), static_cast<std::uint16_t>((half & 1) == 0 ? half : half + 1));
    }
  }
  EXPECT_EQ(half_from_float(65520.0f), 0x7c00);
  EXPECT_EQ(half_from_float(65519.0f), 0x7bff);
}

}  // namespace
}  // namespace kw
