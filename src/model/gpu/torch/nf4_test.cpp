// Kernels on matrices in NF4, run by the emulator, against the CPU's expansion and plain sums; and a trainer and a
// decoder on a packed base that launch them.

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "model/gpu/torch/decoder.h"
#include "model/gpu/torch/nf4_matrices.h"
#include "model/gpu/torch/test_emulated_kernels.h"
#include "model/gpu/torch/trainer.h"
#include "model/weights/float_formats.h"
#include "model/weights/safetensors.h"

namespace kw {
namespace {

using at::Tensor;

ModelDescription description_of(std::int64_t hidden, std::int64_t heads, std::int64_t kv_heads, std::int64_t inner) {
  ModelDescription model;
  model.architecture = decltype(model.architecture)::qwen2;
  model.layers = 1;
  model.hidden = hidden;
  model.heads = heads;
  model.kv_heads = kv_heads;
  model.head_dim = 32;
  model.intermediate = inner;
  model.vocabulary = 120;
  model.context = 64;
  model.tied_embeddings = true;
  model.attention_bias = true;
  return model;
}

Nf4Base random_base(const ModelDescription& model, double deviation = 0.1) {
  Parameters parameters(model);
  Random random(4);
  for (float& value : parameters.values) value = static_cast<float>(random.normal() * deviation);
  // A block of zeros, and one whose largest is not its first.
  for (float& value : parameters.at(parameters.layout.layers[0].weight[0], 64)) value = 0;
  ThreadTeam team(1);
  return quantise_base(team, parameters);
}

constexpr AdapterGroup groups[] = {AdapterGroup::qkv, AdapterGroup::o, AdapterGroup::gate_up, AdapterGroup::down};

TEST(Nf4Expansion, IsTheCpusBitForBit) {
  // Whole blocks in each row; rows that end within blocks; parts that end within them; more than 256 blocks.
  for (const auto& model :
       {description_of(64, 4, 2, 128), description_of(40, 1, 1, 72), description_of(320, 3, 1, 72)}) {
    const Nf4Base base = random_base(model);
    const Nf4Matrices matrices(base, at::kCPU);
    const auto launcher = std::make_shared<EmulatedLauncher>();
    for (const Operations& operations : {Operations(launcher), Operations(nullptr)}) {
      for (const AdapterGroup group : groups) {
        const Nf4Matrix& matrix = matrices.at(0, group);
        Tensor floats = at::full({matrix.out, matrix.in}, 7, at::kFloat);
        Tensor halves = at::full({matrix.out, matrix.in}, 7, at::kBFloat16);
        operations.expand_nf4(matrix, floats);
        operations.expand_nf4(matrix, halves);
        for (const Nf4Matrix::Part& part : matrix.parts) {
          std::vector<float> wanted(static_cast<std::size_t>(part.rows * matrix.in));
          dequantise_nf4(base.matrices.at(part.host), wanted);
          const float* found = floats.data_ptr<float>() + part.first_row * matrix.in;
          EXPECT_EQ(std::memcmp(found, wanted.data(), wanted.size() * sizeof(float)), 0);
          const auto* bits = reinterpret_cast<const std::uint16_t*>(halves.data_ptr()) + part.first_row * matrix.in;
          for (std::size_t i = 0; i < wanted.size(); ++i)
            ASSERT_EQ(bits[i], bf16_of_float(wanted[i])) << "element " << i << " of " << wanted[i];
        }
      }
    }
    EXPECT_TRUE(launcher->launched.contains("nf4_expand_bf16") && launcher->launched.contains("nf4_expand_f32"));
  }
}

// What bitsandbytes wrote, map and all, and the numbers that it makes of it.
TEST(Nf4Expansion, OfBitsandbytesFileIsItsOwn) {
  const auto file =
      SafetensorsFile::open(std::filesystem::path(KW_SOURCE_ROOT) / "tests" / "weights" / "nf4.safetensors");
  ASSERT_TRUE(file.ok());
  const Nf4Tensor tensor = *read_nf4([&](std::string_view name) { return file->find(name); }, "w");
  const auto expected = *read_floats(*file->find("expected"));
  const auto bytes = [](const std::vector<std::uint8_t>& values) {
    return at::from_blob(const_cast<std::uint8_t*>(values.data()), {static_cast<std::int64_t>(values.size())},
                         at::kByte)
        .clone();
  };
  std::vector<float> numbers{tensor.nested_offset};
  numbers.insert(numbers.end(), tensor.nested_map.begin(), tensor.nested_map.end());
  Tensor out = at::zeros({300, 64}, at::kFloat);
  EmulatedKernels::run("nf4_expand_f32", {2, 1, 1}, 256, 0, bytes(tensor.packed), bytes(tensor.absmax),
                       at::tensor(tensor.nested_absmax), at::tensor(numbers), out,
                       static_cast<std::uint64_t>(out.numel()));
  const auto count = static_cast<std::int64_t>(expected.size());
  EXPECT_TRUE(at::equal(out.view({-1}).narrow(0, out.numel() - count, count), at::tensor(expected)));
}

// As the kernel defines it: codes in bf16, their factor in float32; sums in float64.
Tensor plain_products(const Nf4Matrix& matrix, const Tensor& x) {
  Nf4Matrix rounded = matrix;
  Tensor weight = at::empty({matrix.out, matrix.in}, at::kFloat);
  Operations(nullptr).expand_nf4(matrix, weight);
  Tensor codes =
      at::stack({matrix.codes.to(at::kLong).bitwise_right_shift(4), matrix.codes.to(at::kLong).bitwise_and(15)}, 1)
          .flatten()
          .narrow(0, 0, weight.numel())
          .view_as(weight);
  const auto& codebook = nf4_codebook();
  const Tensor exact = at::tensor(std::vector<float>(codebook.begin(), codebook.end()));
  const Tensor ratio = exact.to(at::kBFloat16).to(at::kDouble) / exact.to(at::kDouble);
  const Tensor weights = weight.to(at::kDouble) * ratio.nan_to_num(1).index_select(0, codes.flatten()).view_as(weight);
  return at::mm(x.to(at::kDouble), weights.t());
}

Tensor random_rows(std::int64_t rows, std::int64_t columns, double deviation = 1) {
  static at::Generator generator = at::detail::createCPUGenerator(7);
  return (at::randn({rows, columns}, generator) * deviation).to(at::kBFloat16);
}
double worst(const Tensor& found, const Tensor& wanted) {
  const Tensor a = found.to(at::kDouble), b = wanted.to(at::kDouble);
  return ((a - b).abs() / (b.abs() + 1)).max().item<double>();
}

TEST(Nf4Rows, EqualPlainProducts) {
  // 40 outputs end within a tile; 320 are five blocks of 64, one more than is fetched at a time.
  for (const auto& model : {description_of(64, 4, 2, 128), description_of(320, 4, 1, 64)}) {
    const Nf4Base base = random_base(model, 0.05);
    const Nf4Matrices matrices(base, at::kCPU);
    const auto launcher = std::make_shared<EmulatedLauncher>();
    const Operations operations(launcher);
    for (const AdapterGroup group : groups) {
      const Nf4Matrix& matrix = matrices.at(0, group);
      for (const std::int64_t rows : {1, 3, 8, 11}) {
        const Tensor x = random_rows(rows, matrix.in);
        ASSERT_TRUE(operations.has_nf4_rows(matrix, x));
        Tensor y = at::zeros({rows, matrix.out}, at::kBFloat16);
        operations.nf4_rows(x, matrix, {}, false, y);
        EXPECT_LT(worst(y, plain_products(matrix, x)), 8e-3) << rows << " rows of " << matrix.in;
        // The trainer's weights, nothing but the order of sums and the last rounding between them.
        Tensor weight = at::empty({matrix.out, matrix.in}, at::kBFloat16);
        operations.expand_nf4(matrix, weight);
        operations.nf4_rows(x, matrix, {}, true, y);
        const Tensor wanted = at::mm(x.to(at::kDouble), weight.to(at::kDouble).t());
        EXPECT_LT(worst(y, wanted), 8e-3) << rows << " rows of " << matrix.in;
        const Tensor same = y.eq(wanted.to(at::kBFloat16)).to(at::kFloat);
        EXPECT_GT(same.mean().item<float>(), 0.98) << "all but near ties";
      }
    }
  }
}

TEST(Nf4Rows, NormsAddsAndJoinsGateAndUp) {
  const ModelDescription model = description_of(128, 4, 2, 192);
  const Nf4Base base = random_base(model, 0.05);
  const Nf4Matrices matrices(base, at::kCPU);
  const Operations operations(std::make_shared<EmulatedLauncher>()), twin(nullptr);
  for (const std::int64_t rows : {1, 2}) {
    const Tensor x = random_rows(rows, 128), norm = random_rows(1, 128)[0], bias = random_rows(1, 128)[0];
    Tensor none, normed = at::empty_like(x);
    twin.rms_norm(x, none, none, norm, 1e-5, normed, none);
    const Nf4Matrix& gate_up = matrices.at(0, AdapterGroup::gate_up);
    Tensor joined = at::zeros({rows, 192}, at::kBFloat16), wanted = at::zeros({rows, 192}, at::kBFloat16);
    operations.nf4_rows(x, gate_up, {norm, {}, {}, 1e-5, true}, false, joined);
    twin.swiglu(plain_products(gate_up, normed).to(at::kBFloat16), wanted);
    EXPECT_LT(worst(joined, wanted), 1.6e-2) << "rounded in between";
    const Nf4Matrix& o = matrices.at(0, AdapterGroup::o);
    const Tensor before = random_rows(rows, 128);
    Tensor stream = before.clone();
    operations.nf4_rows(x, o, {{}, bias, stream, 0, false}, false, stream);
    EXPECT_LT(worst(stream, plain_products(o, x) + bias.to(at::kDouble) + before.to(at::kDouble)), 1.6e-2);
  }
}

TEST(Nf4Rows, LongRowsOfManyAreReadInPlace) {
  const ModelDescription model = description_of(64, 2, 2, 8192);
  const Nf4Base base = random_base(model, 0.02);
  const Nf4Matrices matrices(base, at::kCPU);
  const Operations operations(std::make_shared<EmulatedLauncher>());
  const Nf4Matrix& down = matrices.at(0, AdapterGroup::down);
  const Tensor x = random_rows(5, 8192);
  Tensor y = at::zeros({5, 64}, at::kBFloat16);
  operations.nf4_rows(x, down, {}, false, y);
  EXPECT_LT(worst(y, plain_products(down, x)), 8e-3);
}

struct Trained {
  TokenScores scores;
  std::vector<float> gradient;
};

Trained train(const HostBase& base, GpuPrecision precision, std::shared_ptr<const KernelLauncher> kernels,
              std::int64_t memory_bytes = 0) {
  using enum Projection;
  std::vector<Adapter> adapters{make_adapter(base.description, "one", 8, 16, {q, k, v, o, gate, up, down}, 1)};
  Random random(3);
  for (float& value : adapters[0].values) value += static_cast<float>(0.05 * random.normal());
  GpuOptions options;
  options.precision = precision;
  options.on_cpu = true;
  options.memory_bytes = memory_bytes;
  TrainingOptions training;
  training.train_base = false;
  GpuTrainer trainer(base, adapters, {}, training, options, std::move(kernels));
  PackedBatch batch;
  batch.starts = {0, 5, 14};
  for (int i = 0; i < 14; ++i) {
    batch.tokens.push_back(static_cast<std::int32_t>(random.integer(0, 119)));
    batch.scored.push_back(i != 0 && i != 5);
  }
  batch.adapter = {0, 0};
  BatchPlan plan;
  EXPECT_TRUE(plan_batch(batch, {120, 120, 64, 1}, plan).ok());
  Trained trained;
  trained.scores = trainer.run(plan, true);
  ScoreGradients gradients;
  gradients.log_prob.assign(trained.scores.log_prob.size(), -0.1f);
  trainer.backward(plan, gradients);
  trained.gradient.resize(adapters[0].values.size());
  trainer.read_part(0, PartArray::gradient, trained.gradient);
  return trained;
}

double distance(const std::vector<float>& found, const std::vector<float>& wanted) {
  double difference = 0, size = 1e-20;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double d = static_cast<double>(found[i]) - static_cast<double>(wanted[i]);
    difference += d * d;
    size += static_cast<double>(wanted[i]) * static_cast<double>(wanted[i]);
  }
  return std::sqrt(difference / size);
}

// Packed or expanded before, the base is the same: so is everything that is computed, to the last bit.
TEST(PackedBase, TrainsAsItsExpansionDoes) {
  ModelDescription model = description_of(64, 4, 2, 96);
  model.layers = 2;
  const Nf4Base base = random_base(model);
  const Parameters expanded = expand_base(base);
  for (const GpuPrecision precision : {GpuPrecision::float32, GpuPrecision::bf16}) {
    const Trained plain = train(expanded, precision, nullptr), packed = train(base, precision, nullptr);
    EXPECT_EQ(packed.scores.log_prob, plain.scores.log_prob);
    EXPECT_EQ(packed.gradient, plain.gradient);
    const auto launcher = std::make_shared<EmulatedLauncher>();
    const Trained launched = train(base, precision, launcher);
    const bool exact = precision == GpuPrecision::float32;
    EXPECT_LT(distance(launched.scores.log_prob, packed.scores.log_prob), exact ? 1e-5 : 0.01);
    EXPECT_LT(distance(launched.gradient, packed.gradient), exact ? 1e-5 : 0.05);
    EXPECT_TRUE(launcher->launched.contains(exact ? "nf4_expand_f32" : "nf4_expand_bf16"));
  }
}

// From the least memory that is enough to plenty of it: what is computed again is what was there before.
TEST(PackedBase, WhateverMemoryLetsItKeepItTrainsAlike) {
  ModelDescription model = description_of(64, 4, 2, 96);
  model.layers = 4;
  const Nf4Base base = random_base(model);
  const Trained wanted = train(base, GpuPrecision::bf16, nullptr);
  TrainerShape shape;
  shape.model = model;
  shape.method = TrainingMethod::qlora;
  shape.adapter_parameters = adapter_parameters(model, 8);
  shape.adapter_ranks = projection_count * 8;
  const std::int64_t fixed = memory_outside_allocator + sum_of(fixed_memory(shape));
  const PassNeeds needs{14, 12, 2};
  const std::int64_t least = plan_pass(shape, needs, 0).plan.bytes;
  EXPECT_THROW(train(base, GpuPrecision::bf16, nullptr, fixed + least - 1), std::runtime_error);
  std::set<std::int64_t> kept;
  for (std::int64_t more = 0; more < 250'000; more += 15'000) {
    const PassPlan plan = plan_pass(shape, needs, least + more).plan;
    kept.insert(plan.products * 10 + plan.attention);
    const Trained found = train(base, GpuPrecision::bf16, nullptr, fixed + least + more);
    EXPECT_EQ(found.scores.log_prob, wanted.scores.log_prob);
    EXPECT_EQ(found.gradient, wanted.gradient) << plan.products << " and " << plan.attention;
  }
  EXPECT_TRUE(kept.contains(0) && kept.contains(40)) << "nothing and all products";
  EXPECT_GT(kept.size(), 4u);
}

// Bytes of tensors that are alive on the CPU.
class CountingAllocator final : public c10::Allocator {
 public:
  CountingAllocator() : below_(c10::GetAllocator(c10::kCPU)) { c10::SetAllocator(c10::kCPU, this, 255); }
  ~CountingAllocator() override { c10::SetAllocator(c10::kCPU, below_, 255); }
  c10::DataPtr allocate(std::size_t bytes) override {
    void* memory = std::aligned_alloc(64, std::max<std::size_t>(1, (bytes + 63) / 64) * 64);
    sizes[memory] = bytes;
    live += static_cast<std::int64_t>(bytes);
    return {memory, memory, &release, at::Device(at::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { std::memcpy(to, from, bytes); }
  static inline std::int64_t live = 0;

 private:
  static void release(void* memory) {
    live -= static_cast<std::int64_t>(sizes[memory]);
    sizes.erase(memory);
    std::free(memory);
  }
  static inline std::map<void*, std::size_t> sizes;
  c10::Allocator* below_;
};

// Between forward() and backward() as much lies there as the plan says, whatever is kept.
TEST(PackedBase, WhatAPassLeavesIsWhatThePlanSays) {
  ModelDescription model = description_of(64, 4, 2, 192);
  model.layers = 6;
  model.context = 256;
  const Nf4Base base = random_base(model);
  using enum Projection;
  const std::vector<Adapter> adapters{make_adapter(model, "one", 8, 16, {q, k, v, o, gate, up, down}, 1)};
  TrainerShape shape;
  shape.model = model;
  shape.method = TrainingMethod::qlora;
  shape.adapter_parameters = adapter_parameters(model, 8);
  shape.adapter_ranks = projection_count * 8;
  PackedBatch batch;
  batch.tokens.assign(200, 5);
  batch.starts = {0, 200};
  batch.scored.assign(200, 1);
  batch.scored[0] = 0;
  batch.adapter = {0};
  BatchPlan plan;
  ASSERT_TRUE(plan_batch(batch, {120, 120, 256, 1}, plan).ok());
  const PassNeeds needs{200, 199, 1};
  const std::int64_t least = plan_pass(shape, needs, 0).plan.bytes;
  TrainingOptions training;
  training.train_base = false;
  GpuOptions options;
  options.on_cpu = true;
  const CountingAllocator counting;
  std::set<std::int64_t> seen;
  for (std::int64_t more = 0; more < 2'600'000; more += 200'000) {
    options.memory_bytes = memory_outside_allocator + sum_of(fixed_memory(shape)) + least + more;
    GpuTrainer trainer(base, adapters, {}, training, options, nullptr);
    const std::int64_t before = CountingAllocator::live;
    trainer.run(plan, true);
    const std::int64_t left = CountingAllocator::live - before;
    const PassPlan kept = plan_pass(shape, needs, least + more).plan;
    std::int64_t said = needs.scored * (2 * model.hidden * 2 + 16) + needs.rows * 32;
    for (std::int64_t layer = 0; layer < model.layers; ++layer)
      said += kept_bytes(shape, needs.rows, kept.kept(layer, model.layers));
    EXPECT_LE(left, said) << kept.products << " and " << kept.attention;
    EXPECT_GE(left, said * 4 / 5) << kept.products << " and " << kept.attention;
    seen.insert(kept.products * 10 + kept.attention);
  }
  EXPECT_GT(seen.size(), 4u);
  EXPECT_TRUE(seen.contains(60)) << "all products";
}

SampledToken no_host_sampling(const float*, std::int64_t, const SamplingRule&, std::int64_t) { return {}; }

std::vector<SampledToken> decode(const Nf4Base& base, std::shared_ptr<const KernelLauncher> kernels, int sequences) {
  auto model = std::make_shared<SharedModel>(
      SharedModel{base.description, at::kCPU, at::kBFloat16, std::move(kernels), {}, {}, {}, 0});
  const DeviceLayout layout(base.description, base.layout, false);
  Tensor flat = at::empty({layout.size()}, model->type);
  layout.upload(base.others, flat);
  model->weights = layout.views(flat);
  model->packed = std::make_shared<const Nf4Matrices>(base, at::kCPU);
  model->rotary = rotary_tensors(model->description, model->description.context, model->device);
  GpuDecoderOptions options;
  options.page_count = 20;
  options.most_rows = 4;
  options.most_tokens = 64;
  GpuDecoder decoder(model, {flat}, options, &no_host_sampling);
  std::vector<std::vector<std::int32_t>> tokens, pages;
  for (int s = 0; s < sequences; ++s) {
    tokens.push_back({s, 7, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
    pages.push_back({2 * s + 1, 2 * s});
  }
  std::vector<SampledToken> all;
  std::int64_t done = 0;
  for (int step = 0; step < 3; ++step) {
    std::vector<DecoderRow> rows(tokens.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].tokens = std::span(tokens[i]).subspan(static_cast<std::size_t>(done));
      rows[i].first_position = done;
      rows[i].pages = pages[i];
      rows[i].sample = true;
      rows[i].rule.temperature = i == 0 ? 0.0f : 1.0f;
      rows[i].rule.seed = i;
    }
    done = static_cast<std::int64_t>(tokens[0].size());
    const auto sampled = decoder.step(rows);
    EXPECT_TRUE(sampled.ok()) << to_string(sampled.error());
    if (!sampled.ok()) return all;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      all.push_back((*sampled)[i]);
      tokens[i].push_back(static_cast<std::int32_t>(20 + step));
    }
  }
  return all;
}

TEST(PackedBase, DecodesAsItsTwinDoes) {
  // Whole blocks everywhere, and a matrix whose rows end within them: that one is expanded first.
  for (const std::int64_t inner : {128, 96}) {
    ModelDescription model = description_of(64, 4, 2, inner);
    model.layers = 2;
    const Nf4Base base = random_base(model);
    for (const int sequences : {1, 3}) {
      const auto launcher = std::make_shared<EmulatedLauncher>();
      const auto found = decode(base, launcher, sequences), wanted = decode(base, nullptr, sequences);
      ASSERT_EQ(found.size(), wanted.size());
      std::size_t same = 0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i].token != wanted[i].token) continue;  // a near tie that rounding decided
        ++same;
        EXPECT_NEAR(found[i].log_prob, wanted[i].log_prob, 0.05);
      }
      EXPECT_GE(2 * same, found.size());
      EXPECT_TRUE(launcher->launched.contains("nf4_rows_exact"));
      EXPECT_TRUE(launcher->launched.contains("nf4_expand_bf16")) << "a prompt has too many rows";
    }
  }
}

}  // namespace
}  // namespace kw
