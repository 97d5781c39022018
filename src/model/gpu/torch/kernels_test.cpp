// Every CUDA kernel, run by the emulator, against its plain twin (Operations on CPU tensors).

#include <bit>
#include <cmath>

#include "model/gpu/torch/operations.h"
#include "model/gpu/torch/test_emulated_kernels.h"

namespace kw {
namespace {

using at::Tensor;

const Operations& twin() {
  static const Operations operations(nullptr);
  return operations;
}

Tensor random(std::vector<std::int64_t> shape, at::ScalarType type, double deviation = 1) {
  static at::Generator generator = at::detail::createCPUGenerator(7);
  return (at::randn(shape, generator) * deviation).to(type);
}
Tensor ints(const std::vector<std::int32_t>& values) { return at::tensor(values, at::kInt); }

// bf16 keeps 8 bits: results that are rounded differently differ by one part in 128 at most.
void expect_close(const Tensor& found, const Tensor& wanted, const char* what, double float_bound = 2e-5) {
  const bool half = found.scalar_type() == at::kBFloat16;
  const Tensor a = found.to(at::kDouble), b = wanted.to(at::kDouble);
  const double worst = ((a - b).abs() / (b.abs() + 1)).max().item<double>();
  EXPECT_LT(worst, half ? 8e-3 : float_bound) << what;
}

class Kernels : public testing::TestWithParam<at::ScalarType> {
 protected:
  at::ScalarType type() const { return GetParam(); }
  std::string name(const char* kernel) const {
    return std::string(kernel) + (type() == at::kBFloat16 ? "_bf16" : "_f32");
  }
};
INSTANTIATE_TEST_SUITE_P(BothTypes, Kernels, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& chosen) { return chosen.param == at::kFloat ? "float32" : "bf16"; });

HeadShape small_heads() {
  ModelDescription model;
  model.heads = 6;
  model.kv_heads = 2;
  model.head_dim = 32;
  return HeadShape(model);
}

TEST_P(Kernels, EmbeddingAndItsGradient) {
  const Tensor table = random({11, 40}, type()), ids = ints({3, 0, 10, 3, 3});
  Tensor out = at::zeros({5, 40}, type()), wanted = at::zeros({5, 40}, type());
  EmulatedKernels::run(name("embed"), {5, 1, 1}, 32, 0, ids, table, out, 40);
  twin().embed(ids, table, wanted);
  EXPECT_TRUE(at::equal(out, wanted));

  const Tensor dx = random({5, 40}, type());
  const TokenRows rows{ints({0, 3, 10}), ints({0, 1, 4, 5}), ints({1, 0, 3, 4, 2})};
  Tensor gradient = random({11, 40}, at::kFloat), gradient_wanted = gradient.clone();
  EmulatedKernels::run(name("embed_backward"), {3, 2, 1}, 32, 0, rows.tokens, rows.starts, rows.rows, dx, gradient, 40);
  twin().embed_backward(rows, dx, gradient_wanted);
  expect_close(gradient, gradient_wanted, "embedding gradient");
}

TEST_P(Kernels, NormAndItsGradient) {
  const int rows = 5, width = 296;
  const Tensor x = random({rows, width}, type()), update = random({rows, width}, type()),
               weight = random({width}, type());
  for (const int variant : {0, 1, 2, 3}) {
    const Tensor added = variant % 2 == 0 ? update : Tensor();
    const std::uint32_t threads = variant < 2 ? 32 : 96;
    Tensor out = at::zeros_like(x), y = at::zeros_like(x), inverse = at::zeros({rows}, at::kFloat);
    Tensor out2 = at::zeros_like(x), y2 = at::zeros_like(x), inverse2 = at::zeros({rows}, at::kFloat);
    EmulatedKernels::run(name("rms_norm"), {rows, 1, 1}, threads, 0, x, added, out, weight, y, inverse, width, 1e-5f);
    twin().rms_norm(x, added, out2, weight, 1e-5, y2, inverse2);
    expect_close(out, out2, "sum");
    expect_close(y, y2, "norm");
    expect_close(inverse, inverse2, "inverse");
  }
  const Tensor inverse = (x.to(at::kFloat).square().mean(1) + 1e-5).rsqrt(), dy = random({rows, width}, type());
  for (const std::uint32_t threads : {32u, 96u}) {  // several packs a thread, and at most one
    Tensor dx = random({rows, width}, type()), dx2 = dx.clone(), partial = at::zeros({2, width}, at::kFloat),
           dweight = at::zeros({width}, at::kFloat);
    EmulatedKernels::run(name("rms_norm_backward"), {2, 1, 1}, threads, width * 4, dy, x, weight, inverse, dx, partial,
                         rows, width);
    twin().rms_norm_backward(dy, x, weight, inverse, dx2, dweight);
    expect_close(dx, dx2, "dx");
    expect_close(partial.sum(0), dweight, "dweight");
  }
}

TEST_P(Kernels, RotationBothWaysAndIntoTheCache) {
  const HeadShape shape = small_heads();
  const int rows = 3;
  const Tensor qkv = random({rows, shape.qkv()}, type()), bias = random({shape.qkv()}, type());
  const Tensor angles = random({20, shape.head_dim / 2}, at::kFloat), c = angles.cos(), s = angles.sin();
  const Tensor positions = ints({0, 19, 7});
  for (const bool back : {false, true}) {
    Tensor found = qkv.clone(), wanted = qkv.clone();
    const Tensor added = back ? Tensor() : bias;
    EmulatedKernels::run(name("rotate_qkv"), {rows, 1, 1}, 64, 0, found, added, positions, c, s, 6, 2, 32,
                         back ? -1.0f : 1.0f);
    twin().rotate_qkv(wanted, added, positions, c, s, shape, back);
    expect_close(found, wanted, "rotation");
  }
  const Tensor slots = ints({16, 5, -1});
  Tensor found = qkv.clone(), wanted = qkv.clone();
  Tensor keys = at::zeros({2, 2, 16, 32}, type()), values = at::zeros({2, 2, 32, 16}, type());
  Tensor keys2 = keys.clone(), values2 = values.clone();
  EmulatedKernels::run(name("rotate_into_cache"), {rows, 1, 1}, 64, 0, found, bias, positions, slots, c, s, keys,
                       values, 6, 2, 32);
  twin().rotate_into_cache(wanted, bias, positions, slots, c, s, shape, keys2, values2);
  expect_close(found.narrow(0, 0, 2), wanted.narrow(0, 0, 2), "rotated");
  expect_close(keys, keys2, "keys");
  expect_close(values, values2, "values");
}

TEST_P(Kernels, SwigluAndItsGradient) {
  const int rows = 3, width = 104;
  const Tensor gate_up = random({rows, 2 * width}, type(), 2), dy = random({rows, width}, type());
  Tensor y = at::zeros({rows, width}, type()), y2 = y.clone(), again = y.clone(), again2 = y.clone();
  EmulatedKernels::run(name("swiglu"), {rows, 1, 1}, 32, 0, gate_up, y, width);
  twin().swiglu(gate_up, y2);
  expect_close(y, y2, "y");
  Tensor gradient = gate_up.clone(), gradient2 = gate_up.clone();
  EmulatedKernels::run(name("swiglu_backward"), {rows, 1, 1}, 32, 0, gradient, dy, again, width);
  twin().swiglu_backward(gradient2, dy, again2);
  expect_close(gradient, gradient2, "gradient");
  expect_close(again, again2, "y again");
}

TEST_P(Kernels, MasksTakeLogitsAway) {
  const int rows = 3, width = 300, usable = 290, words = 10;
  const Tensor logits = random({rows, width}, type(), 3);
  Tensor masks = at::zeros({2, words}, at::kInt);
  for (const int token : {0, 31, 32, 100, 289}) {
    auto* word = masks.data_ptr<std::int32_t>() + words + token / 32;
    *word = static_cast<std::int32_t>(static_cast<std::uint32_t>(*word) | 1u << (token % 32));
  }
  const Tensor mask_of_row = ints({-1, 1, 1});
  Tensor found = logits.clone(), wanted = logits.clone();
  EmulatedKernels::run(name("mask_logits"), {2, rows, 1}, 64, 0, found, masks, mask_of_row, width, usable, words);
  twin().mask_logits(wanted, masks, mask_of_row, usable);
  EXPECT_TRUE(found.equal(wanted));
  EXPECT_TRUE(found[0].equal(logits[0])) << "a row without a mask";
  EXPECT_EQ((found[1].narrow(0, 0, usable) > -1e29).sum().item<std::int64_t>(), 5);
  EXPECT_TRUE(found[2].narrow(0, usable, width - usable).equal(logits[2].narrow(0, usable, width - usable)));
  EXPECT_TRUE(found[1][289].equal(logits[1][289]));
}

// Scores among the tokens of a mask are those of a softmax over them; one token alone is certain.
TEST(MaskedScores, AreThoseOfASoftmaxOverWhatIsLeft) {
  const int rows = 2, width = 128, usable = 120;
  const Tensor logits = random({rows, width}, at::kFloat, 3), tokens = ints({5, 7});
  Tensor masks = at::zeros({2, 4}, at::kInt);
  masks[0][0] = (1 << 5) | (1 << 9);
  masks[0][3] = 1 << 2;
  masks[1][0] = 1 << 7;
  Tensor masked = logits.clone(), results = at::zeros({3, rows}, at::kFloat);
  EmulatedKernels::run("mask_logits_f32", {1, rows, 1}, 64, 0, masked, masks, ints({0, 1}), width, usable, 4);
  EmulatedKernels::run("score_tokens_f32", {rows, 1, 1}, 64, 0, masked, tokens, results[0], results[1], results[2],
                       width, usable, 0.7f);
  const Tensor left = at::stack({logits[0][5], logits[0][9], logits[0][98]}) * 0.7;
  EXPECT_NEAR(results[0][0].item<float>(), (left[0] - left.logsumexp(0)).item<float>(), 1e-5);
  EXPECT_NEAR(results[0][1].item<float>(), 0, 1e-6);
  EXPECT_NEAR(results[1][1].item<float>(), 0, 1e-6);
  Tensor d = at::ones({rows}, at::kFloat), gradient = at::ones({rows, width}, at::kFloat);
  EmulatedKernels::run("score_gradient_f32", {1, rows, 1}, 128, 0, masked, tokens, results[2], results[1], d, d,
                       gradient, width, usable, 0.7f);
  EXPECT_EQ((gradient[0] != 0).sum().item<std::int64_t>(), 3);
  EXPECT_NEAR(gradient[1].abs().max().item<float>(), 0, 1e-6);
}

TEST_P(Kernels, ScoresAndTheirGradient) {
  for (const int width : {300, 1304}) {  // by elements, and in whole packs
    const int rows = 3, usable = width - 10;
    const Tensor logits = random({rows, width}, at::kFloat, 3), tokens = ints({0, usable - 1, 100});
    const auto floats = [&] { return at::zeros({rows}, at::kFloat); };
    Tensor log_prob = floats(), entropy = floats(), log_sum = floats();
    Tensor log_prob2 = floats(), entropy2 = floats(), log_sum2 = floats();
    EmulatedKernels::run("score_tokens_f32", {rows, 1, 1}, 64, 0, logits, tokens, log_prob, entropy, log_sum, width,
                         usable, 0.7f);
    twin().score_tokens(logits, tokens, usable, 0.7f, log_prob2, entropy2, log_sum2);
    expect_close(log_prob, log_prob2, "log prob");
    expect_close(entropy, entropy2, "entropy");
    const Tensor d = random({rows}, at::kFloat), d_entropy = random({rows}, at::kFloat);
    for (const bool with_entropy : {true, false}) {
      const Tensor de = with_entropy ? d_entropy : Tensor();
      Tensor out = at::ones({rows, width}, type()), out2 = at::ones({rows, width}, type());
      EmulatedKernels::run(name("score_gradient"), {2, rows, 1}, 128, 0, logits, tokens, log_sum2, entropy2, d, de, out,
                           width, usable, 0.7f);
      twin().score_gradient(logits, tokens, usable, 0.7f, log_sum2, entropy2, d, de, out2);
      expect_close(out, out2, "gradient");
    }
  }
}

TEST(NarrowScores, EqualTheTwinAndTheirGradientMayReplaceThem) {
  for (const int width : {300, 1304}) {
    const int rows = 2, usable = width - 10;
    const Tensor logits = random({rows, width}, at::kBFloat16, 3), tokens = ints({7, usable - 1});
    const Tensor d = random({rows}, at::kFloat), de = random({rows}, at::kFloat);
    Tensor found = at::zeros({3, rows}, at::kFloat), wanted = at::zeros({3, rows}, at::kFloat);
    Tensor log_prob = wanted[0], entropy = wanted[1], log_sum = wanted[2];
    twin().score_tokens(logits, tokens, usable, 0.7f, log_prob, entropy, log_sum);
    EmulatedKernels::run("score_tokens_bf16", {rows, 1, 1}, 64, 0, logits, tokens, found[0], found[1], found[2], width,
                         usable, 0.7f);
    expect_close(found, wanted, "scores");
    Tensor out = logits.clone(), out2 = logits.clone();
    EmulatedKernels::run("score_gradient_narrow", {2, rows, 1}, 128, 0, out, tokens, log_sum.clone(), entropy.clone(),
                         d, de, out, width, usable, 0.7f);
    twin().score_gradient(logits, tokens, usable, 0.7f, log_sum, entropy, d, de, out2);
    expect_close(out, out2, "gradient");
  }
}

TEST_P(Kernels, SingleRowProducts) {
  const int in = 264, out = 13;
  const Tensor x = random({1, in}, type()), norm = random({in}, type()), weight = random({out, in}, type(), 0.1),
               bias = random({out}, type());
  Tensor normed = at::zeros_like(x), none;
  twin().rms_norm(x, {}, none, norm, 1e-6, normed, none);
  Tensor y = random({1, out}, type());
  const Tensor wanted = at::mm(normed.to(at::kFloat), weight.to(at::kFloat).t()) + bias + y;
  EmulatedKernels::run(name("single_row"), {2, 1, 1}, 64, in * x.element_size(), x, norm, 1e-6f, weight, bias, y, y, in,
                       out, 0, 0);
  expect_close(y, wanted, "with norm, bias and residual", 1e-4);

  const Tensor pairs = random({2 * out, in}, type(), 0.1);
  const Tensor both = at::mm(x.to(at::kFloat), pairs.to(at::kFloat).t()).to(type());
  Tensor activated = at::zeros({1, out}, type()), activated2 = at::zeros({1, out}, type());
  EmulatedKernels::run(name("single_row"), {1, 1, 1}, 128, in * x.element_size(), x, Tensor(), 0.0f, pairs, Tensor(),
                       Tensor(), activated, in, out, 1, 0);
  twin().swiglu(both, activated2);
  expect_close(activated, activated2, "gate and up", 1e-4);

  // A row longer than two passes of its two warps.
  const int length = 4200;
  const Tensor long_x = random({1, length}, type()), long_weight = random({out, length}, type(), 0.02);
  Tensor sum = random({1, out}, type());
  const Tensor long_wanted = at::mm(long_x.to(at::kFloat), long_weight.to(at::kFloat).t()) + sum;
  EmulatedKernels::run(name("single_row"), {3, 1, 1}, 64, length * x.element_size(), long_x, Tensor(), 0.0f,
                       long_weight, Tensor(), sum, sum, length, out, 0, 1);
  expect_close(sum, long_wanted, "shared between warps", 1e-4);
}

TEST_P(Kernels, LowRankRowsOfSeveralAdapters) {
  const int rows = 4, in = 72, out = 45;
  LowRankTable table;
  table.a_values = {random({5, in}, type(), 0.1), Tensor(), random({8, in}, type(), 0.1)};
  table.b_values = {random({out, 5}, type(), 0.3), Tensor(), random({out, 8}, type(), 0.3)};
  table.host_scales = {2, 1, 0.5};
  table.most_rank = 8;
  const Tensor x = random({rows, in}, type()), adapters = ints({2, -1, 0, 1});
  Tensor y = random({rows, out}, type()), wanted = y.clone();
  EmulatedKernels::run(name("low_rank_rows"), {2, rows, 1}, 64, 8 * 4, x, in, y, out, adapters,
                       AddressArray{table.a_values}, AddressArray{table.b_values}, at::tensor(table.host_scales),
                       ints({5, 0, 8}), in, out, 32);
  twin().low_rank_rows(x, table, adapters, wanted);
  expect_close(y, wanted, "low rank");
}

TEST(LowRankAdd, EqualsTheProductBothWays) {
  for (const int steps : {1, 2, 3, 4}) {
    for (const bool transposed : {true, false}) {
      const int rows = 45, columns = 160, inner = 16 * steps, wide = 200;  // y: columns 8 to 168 of wider rows
      const Tensor x = random({rows, inner}, at::kBFloat16);
      const Tensor weights =
          transposed ? random({columns, inner}, at::kBFloat16, 0.2) : random({inner, columns}, at::kBFloat16, 0.2);
      Tensor y = random({rows, wide}, at::kBFloat16), wanted = y.clone();
      EmulatedLauncher launcher;
      launcher.launch("low_rank_add_" + std::to_string(steps), {{2, 2, 1}, 128, 0},
                      {y.narrow(1, 8, columns), wide, x, inner, weights, transposed ? inner : 1,
                       transposed ? 1 : columns, rows, columns, 0.5f, 32});
      Tensor part = wanted.narrow(1, 8, columns);
      twin().low_rank_add(part, x, weights, transposed, 0.5);
      expect_close(y, wanted, "low rank");
    }
  }
}

TEST_P(Kernels, PlainPagedAttention) {
  const HeadShape shape = small_heads();
  const int rows = 3;
  const Tensor qkv = random({rows, shape.qkv()}, type()), keys = random({5, 2, 16, 32}, type()),
               values = random({5, 2, 32, 16}, type());
  const PagedRows paged{ints({4, 1, 0, 2, 3, 0}), ints({3}), ints({0, 1, 1}), ints({33, 0, 5})};
  Tensor out = at::zeros({rows, shape.query()}, type()), wanted = out.clone(), scratch = at::zeros({1});
  EmulatedKernels::run(name("paged_attention_plain"), {6, rows, 1}, 32, 32 * 4, qkv, keys, values, paged.tables,
                       paged.table_of_row, paged.lengths, paged.table_stride, out, 2, 32,
                       static_cast<float>(shape.scale));
  twin().paged_attention(qkv, keys, values, paged, shape, 1, scratch, wanted);
  expect_close(out, wanted, "attention");
}

TEST(MatrixAttention, EqualsThePlainTwinWholeAndInParts) {
  for (const int head_dim : {32, 64, 128}) {
    ModelDescription model;
    model.heads = 14;
    model.kv_heads = 2;
    model.head_dim = head_dim;
    const HeadShape shape(model);
    const std::uint32_t rows = 3;
    const Tensor qkv = random({rows, shape.qkv()}, at::kBFloat16), keys = random({9, 2, 16, head_dim}, at::kBFloat16),
                 values = random({9, 2, head_dim, 16}, at::kBFloat16);
    const PagedRows paged{ints({4, 1, 0, 2, 3, 5, 8, 7, 6, 0, 0, 0, 0, 0}), ints({7}), ints({0, 1, 0}),
                          ints({105, 17, 0})};
    Tensor wanted = at::zeros({rows, shape.query()}, at::kBFloat16), not_used = at::zeros({1});
    twin().paged_attention(qkv, keys, values, paged, shape, 1, not_used, wanted);
    for (const std::uint32_t parts : {1u, 3u}) {
      Tensor out = at::zeros({rows, shape.query()}, at::kBFloat16);
      Tensor part_out = at::zeros({rows * 14 * parts * head_dim}, at::kFloat),
             part_scale = at::zeros({rows * 14 * parts * 2}, at::kFloat);
      EmulatedKernels::run("paged_attention_" + std::to_string(head_dim), {parts, 2, rows}, 128, 0, qkv, keys, values,
                           paged.tables, paged.table_of_row, paged.lengths, paged.table_stride, out, part_out,
                           part_scale, 14, 2, static_cast<float>(shape.scale));
      if (parts > 1) {
        EmulatedKernels::run("join_attention", {14, rows, 1}, static_cast<std::uint32_t>(head_dim), 0, part_out,
                             part_scale, out, static_cast<int>(parts));
      }
      expect_close(out, wanted, ("head_dim " + std::to_string(head_dim)).c_str());
    }
  }
}

TEST(MatrixAttention, RotatesAndFillsTheCacheItself) {
  for (const int head_dim : {32, 64, 128}) {
    ModelDescription model;
    model.heads = 14;
    model.kv_heads = 2;
    model.head_dim = head_dim;
    const HeadShape shape(model);
    const std::uint32_t rows = 4;
    const Tensor qkv = random({rows, shape.qkv()}, at::kBFloat16), bias = random({shape.qkv()}, at::kBFloat16);
    const Tensor angles = random({110, head_dim / 2}, at::kFloat), c = angles.cos(), s = angles.sin();
    const Tensor keys = random({12, 2, 16, head_dim}, at::kBFloat16),
                 values = random({12, 2, head_dim, 16}, at::kBFloat16);
    // Row 2 is none; row 3 has its first token of all.
    const PagedRows paged{ints({4, 1, 0, 2, 3, 5, 8, 7, 6, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0}), ints({7}),
                          ints({0, 1, 0, 2}), ints({105, 17, 0, 1})};
    const Tensor positions = ints({104, 16, 0, 0}), slots = ints({8 * 16 + 8, 6 * 16, -1, 160});
    Tensor wanted = at::zeros({rows, shape.query()}, at::kBFloat16), not_used = at::zeros({1});
    Tensor rotated = qkv.clone(), keys_wanted = keys.clone(), values_wanted = values.clone();
    twin().rotating_attention(rotated, bias, positions, slots, c, s, keys_wanted, values_wanted, paged, shape, 1,
                              not_used, wanted);
    for (const std::uint32_t parts : {1u, 3u}) {
      Tensor out = at::zeros({rows, shape.query()}, at::kBFloat16), new_keys = keys.clone(),
             new_values = values.clone();
      Tensor part_out = at::zeros({rows * 14 * parts * head_dim}, at::kFloat),
             part_scale = at::zeros({rows * 14 * parts * 2}, at::kFloat);
      EmulatedKernels::run("paged_attention_rotating_" + std::to_string(head_dim), {parts, 2, rows}, 128, 0, qkv, bias,
                           positions, slots, c, s, new_keys, new_values, paged.tables, paged.table_of_row,
                           paged.lengths, paged.table_stride, out, part_out, part_scale, 14, 2,
                           static_cast<float>(shape.scale));
      if (parts > 1) {
        EmulatedKernels::run("join_attention", {14, rows, 1}, static_cast<std::uint32_t>(head_dim), 0, part_out,
                             part_scale, out, static_cast<int>(parts));
      }
      expect_close(out, wanted, ("head_dim " + std::to_string(head_dim)).c_str());
      expect_close(new_keys, keys_wanted, "keys");
      expect_close(new_values, values_wanted, "values");
    }
  }
}

TEST(SamplingKernels, SameTokenAndLogProbAsTheTwin) {
  const int rows = 4, width = 1000, usable = 990, parts = 3;
  const Tensor logits = random({rows, width}, at::kFloat, 2);
  const auto bits = [](float value) { return std::bit_cast<std::int32_t>(value); };
  const Tensor rules =
      ints({bits(1), 0, 0, 0, bits(1), 1, 17, 99, bits(2), 1, 17, 99, bits(0.5f), 1, -5, 12345}).view({rows, 4});
  Tensor candidates = at::zeros({rows * parts * 5}, at::kFloat);
  Tensor tokens = at::zeros({rows}, at::kInt), tokens2 = tokens.clone();
  Tensor log_probs = at::zeros({rows}, at::kFloat), log_probs2 = log_probs.clone();
  EmulatedKernels::run("sample_parts", {parts, rows, 1}, 64, 0, logits, rules, candidates, width, usable);
  EmulatedKernels::run("sample_join", {rows, 1, 1}, 32, 0, candidates, parts, tokens, log_probs);
  twin().sample(logits, rules, usable, parts, candidates, tokens2, log_probs2);
  EXPECT_TRUE(at::equal(tokens, tokens2)) << tokens << tokens2;
  expect_close(log_probs, log_probs2, "log prob");
}

// With this key token 0 has an extreme number; small ones give large noise.
std::uint32_t key_with_hash(std::uint32_t upper_bits) {
  for (std::uint32_t key = 0;; ++key) {
    std::uint32_t h = key;
    h ^= h >> 16;
    h *= 0x21f0aaadu;
    h ^= h >> 15;
    h *= 0x735a2d97u;
    h ^= h >> 15;
    if (h >> 8 == upper_bits) return key;
  }
}

// Once in 16 million draws the uniform number rounded to one and the noise was infinite: with a vocabulary of 49,152
// that was a token of garbage in two of three answers.
TEST(SamplingKernels, NoNoiseIsInfinite) {
  const at::Tensor logits = at::tensor({-40.0f, 0.0f}).reshape({1, 2});
  for (const std::uint32_t upper_bits : {0u, 0xffffffu}) {
    const auto key = std::bit_cast<std::int32_t>(key_with_hash(upper_bits));
    const at::Tensor rules = at::tensor({std::bit_cast<std::int32_t>(1.0f), 1, key, 0}, at::kInt).reshape({1, 4});
    at::Tensor candidates = at::zeros({1, 5}), tokens = at::zeros({1}, at::kInt), log_probs = at::zeros({1});
    EmulatedKernels::run("sample_parts", {1, 1, 1}, 64, 0, logits, rules, candidates, 2, 2);
    EmulatedKernels::run("sample_join", {1, 1, 1}, 32, 0, candidates, 1, tokens, log_probs);
    EXPECT_EQ(tokens.item<int>(), 1) << upper_bits;
    twin().sample(logits, rules, 2, 1, candidates, tokens, log_probs);
    EXPECT_EQ(tokens.item<int>(), 1) << upper_bits;
  }
}

// Frequencies of rare tokens are those of the distribution.
TEST(SamplingKernels, RareTokensAreAsRareAsTheyShouldBe) {
  constexpr int rows = 20000, width = 64;
  at::Tensor logits = at::zeros({rows, width});
  logits.select(1, 7).fill_(8.0f);
  at::Tensor rules = at::zeros({rows, 4}, at::kInt);
  std::uint64_t state = 1;
  for (int row = 0; row < rows; ++row) {
    auto* rule = rules.data_ptr<int>() + row * 4;
    rule[0] = std::bit_cast<int>(1.0f);
    rule[1] = 1;
    for (int part : {2, 3}) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      rule[part] = static_cast<int>(state >> 32);
    }
  }
  at::Tensor scratch = at::zeros({rows, 5}), tokens = at::zeros({rows}, at::kInt), log_probs = at::zeros({rows});
  twin().sample(logits, rules, width, 1, scratch, tokens, log_probs);
  const double others = tokens.ne(7).sum().item<double>() / rows;
  const double expected = 63 / (63 + std::exp(8.0));  // 0.0207
  EXPECT_NEAR(others, expected, 4 * std::sqrt(expected / rows));
}

TEST(OptimizerKernel, EqualsTheTwin) {
  const std::int64_t size = 333;
  Tensor values = random({size}, at::kFloat), gradient = random({size}, at::kFloat), first = random({size}, at::kFloat),
         second = random({size}, at::kFloat).square(), copy = at::zeros({size}, at::kBFloat16);
  Tensor values2 = values.clone(), gradient2 = gradient.clone(), first2 = first.clone(), second2 = second.clone(),
         copy2 = copy.clone();
  const AdamWNumbers numbers{0.01, 0.9, 0.95, 1e-8, 0.1, 0.5, 3};
  EmulatedKernels::run("adamw", {2, 1, 1}, 64, 0, values, gradient, first, second, copy,
                       static_cast<std::uint64_t>(size), 0.5f, 0.01f, 0.9f, 0.95f, 1e-8f, 0.1f,
                       static_cast<float>(1 - std::pow(0.9, 3)), static_cast<float>(std::sqrt(1 - std::pow(0.95, 3))));
  twin().adamw(numbers, values2, gradient2, first2, second2, copy2);
  expect_close(values, values2, "values");
  expect_close(first, first2, "first moment");
  expect_close(second, second2, "second moment");
  expect_close(copy, copy2, "copy");
  EXPECT_EQ(gradient.abs().max().item<float>(), 0);
}

}  // namespace
}  // namespace kw
