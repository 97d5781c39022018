// References on a GPU, prepared inputs, chosen positions. Those that need a GPU are skipped where there is none.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/statistics.h"
#include "kernel/reference/reference.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

// A GPU is often on another machine than the one that built this; KERNELWRIGHT_TASKS says where the suite is there.
std::filesystem::path tasks_folder() {
  const auto found = suite_folder();
  return found.ok() ? *found : std::filesystem::path(KW_SOURCE_ROOT) / "tasks";
}

Task suite_task(const std::string& name) {
  auto task = load_task(tasks_folder() / name);
  EXPECT_TRUE(task.ok()) << to_string(task.error());
  return *task;
}

// x: [n] float32 and one output of the same kind.
Task task_with(const std::string& body) {
  auto task = suite_task("relu");
  task.pytorch = "def reference(x):\n    " + body;
  return task;
}

template <class T>
T element(const std::string& bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

// The largest difference relative to |right| + rms(right); whole numbers must be the same.
double worst_difference(const OutputTensor& got, const OutputTensor& right) {
  if (got.shape != right.shape || got.dtype != right.dtype || got.bytes.size() != right.bytes.size()) return INFINITY;
  if (right.dtype != Dtype::float64) return got.bytes == right.bytes ? 0 : INFINITY;
  const std::size_t count = right.bytes.size() / sizeof(double);
  double squares = 0, worst = 0;
  for (std::size_t i = 0; i < count; ++i) squares += std::pow(element<double>(right.bytes, i), 2);
  const double typical = std::sqrt(squares / static_cast<double>(count));
  for (std::size_t i = 0; i < count; ++i) {
    const double a = element<double>(got.bytes, i), b = element<double>(right.bytes, i);
    if (std::isnan(a) != std::isnan(b)) return INFINITY;
    if (a != b) worst = std::max(worst, std::abs(a - b) / (std::abs(b) + typical));
  }
  return worst;
}

class ReferenceGpu : public testing::Test {
 protected:
  void SetUp() override {
    const auto name = gpu_available();
    if (!name.ok()) GTEST_SKIP() << to_string(name.error());
  }
};

TEST(ReferenceWithoutGpu, SaysWhyThereIsNone) {
  const auto name = gpu_available();
  if (name.ok()) GTEST_SKIP() << "there is one: " << *name;
  EXPECT_NE(name.error().message.find("GPU"), std::string::npos) << name.error().message;
  const Task task = suite_task("relu");
  const auto reference = make_reference(task);
  ASSERT_TRUE(reference.ok()) << to_string(reference.error());
  const auto inputs = make_inputs(task, {{"n", 7}}, 1);
  const auto answer = (*reference)->run(*inputs, {{"n", 7}}, Precision::truth, Device::gpu);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().message, name.error().message);
  const auto prepared = (*reference)->prepare(*inputs, Device::gpu);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().message, name.error().message);
  EXPECT_TRUE((*reference)->run(*inputs, {{"n", 7}}, Precision::truth).ok());
}

// Outputs that are not contiguous, several of them, of whole numbers, in both precisions.
void positions_give_what_the_whole_gives(Device device) {
  for (const std::string name : {"relu", "nchw_to_nhwc", "adam_step", "col_argmin", "layer_norm_bf16", "full_sum"}) {
    const Task task = suite_task(name);
    const auto reference = make_reference(task);
    ASSERT_TRUE(reference.ok()) << to_string(reference.error());
    const Sizes sizes = task.sizes_small.back();
    const auto inputs = make_inputs(task, sizes, 5);
    const auto prepared = (*reference)->prepare(*inputs, device);
    ASSERT_TRUE(prepared.ok()) << to_string(prepared.error());
    Positions positions;
    for (const TensorSpec& output : task.outputs) {
      const std::int64_t last = *output.elements_at(sizes) - 1;
      positions.push_back({last, 0, last / 2, last / 3, last});
    }
    for (const Precision precision : {Precision::truth, Precision::task_dtype}) {
      const auto whole = (*reference)->run(**prepared, sizes, precision);
      const auto chosen = (*reference)->run_at(**prepared, sizes, precision, positions);
      ASSERT_TRUE(whole.ok()) << to_string(whole.error());
      ASSERT_TRUE(chosen.ok()) << to_string(chosen.error());
      ASSERT_EQ(whole->size(), chosen->size());
      for (std::size_t i = 0; i < whole->size(); ++i) {
        const OutputTensor& elements = (*chosen)[i].elements;
        EXPECT_EQ((*chosen)[i].shape, (*whole)[i].shape);
        EXPECT_EQ((*chosen)[i].positions, positions[i]);
        EXPECT_EQ(elements.name, (*whole)[i].name);
        EXPECT_EQ(elements.dtype, (*whole)[i].dtype);
        EXPECT_EQ(elements.shape, std::vector<std::int64_t>{5});
        const std::size_t bytes = bytes_of(elements.dtype);
        ASSERT_EQ(elements.bytes.size(), 5 * bytes);
        for (std::size_t k = 0; k < 5; ++k) {
          EXPECT_EQ(elements.bytes.substr(k * bytes, bytes),
                    (*whole)[i].bytes.substr(static_cast<std::size_t>(positions[i][k]) * bytes, bytes))
              << name << " " << positions[i][k];
        }
      }
    }
  }
}

TEST(ReferencePositions, GiveWhatTheWholeGives) { positions_give_what_the_whole_gives(Device::cpu); }

TEST(ReferencePositions, OutsideAreErrors) {
  const Task task = suite_task("relu");
  const auto reference = make_reference(task);
  const Sizes sizes{{"n", 7}};
  const auto inputs = make_inputs(task, sizes, 1);
  const auto prepared = (*reference)->prepare(*inputs, Device::cpu);
  ASSERT_TRUE(prepared.ok());
  for (const Positions& wrong : {Positions{{7}}, Positions{{0, -1}}, Positions{}, Positions{{0}, {0}}}) {
    EXPECT_FALSE((*reference)->run_at(**prepared, sizes, Precision::truth, wrong).ok());
  }
  const auto none = (*reference)->run_at(**prepared, sizes, Precision::truth, {{}});
  ASSERT_TRUE(none.ok()) << to_string(none.error());
  EXPECT_TRUE((*none)[0].elements.bytes.empty());
}

TEST(ReferencePrepared, InputsStayAsTheyAre) {
  const Task task = task_with("return x.add_(1.0)");
  const auto reference = make_reference(task);
  const Sizes sizes{{"n", 100}};
  const auto inputs = make_inputs(task, sizes, 1);
  const auto right = (*reference)->run(*inputs, sizes, Precision::task_dtype);
  const auto prepared = (*reference)->prepare(*inputs, Device::cpu);
  ASSERT_TRUE(prepared.ok());
  EXPECT_EQ((*prepared)->bytes(), 400);
  for (int i = 0; i < 2; ++i) {  // the text changes its own copy
    const auto answer = (*reference)->run(**prepared, sizes, Precision::task_dtype);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ((*answer)[0].bytes, (*right)[0].bytes);
  }
  EXPECT_FALSE((*reference)->time_us(**prepared, sizes, {}).ok());
}

// First on the CPU, a convolution too, as that is when torch could decide that there is no CUDA.
void gpu_agrees(const Task& task, double allowed) {
  const auto reference = make_reference(task);
  ASSERT_TRUE(reference.ok()) << to_string(reference.error());
  for (const Sizes& sizes : task.sizes_small) {
    const auto inputs = make_inputs(task, sizes, 7);
    const auto cpu = (*reference)->run(*inputs, sizes, Precision::truth);
    ASSERT_TRUE(cpu.ok()) << to_string(cpu.error());
    const auto gpu = (*reference)->run(*inputs, sizes, Precision::truth, Device::gpu);
    EXPECT_TRUE(gpu.ok()) << to_string(gpu.error());
    if (!gpu.ok()) return;
    for (std::size_t i = 0; i < cpu->size(); ++i) {
      EXPECT_LE(worst_difference((*gpu)[i], (*cpu)[i]), allowed) << task.name << " " << (*cpu)[i].name;
    }
    const auto narrow = (*reference)->run(*inputs, sizes, Precision::task_dtype, Device::gpu);
    EXPECT_TRUE(narrow.ok()) << to_string(narrow.error());
  }
}

TEST_F(ReferenceGpu, TruthIsTheCpusTruth) {
  for (const std::string name : {"conv2d_3x3", "relu", "softmax_masked_causal", "matmul", "layer_norm", "attention",
                                 "histogram", "segment_sum", "index_put_rows", "col_cumsum", "cross_entropy_rows"}) {
    gpu_agrees(suite_task(name), 1e-12);
  }
}

TEST_F(ReferenceGpu, SuiteRunsSlow) {
  const auto suite = load_suite(tasks_folder());
  ASSERT_TRUE(suite.ok());
  for (const SuiteEntry& entry : *suite) gpu_agrees(*entry.task, 1e-7);
}

TEST_F(ReferenceGpu, PositionsGiveWhatTheWholeGives) { positions_give_what_the_whole_gives(Device::gpu); }

TEST_F(ReferenceGpu, FloatProductsAreNotRoundedToTf32) {
  for (const std::string name : {"matmul", "conv2d_3x3"}) {
    const Task product = suite_task(name);
    const auto reference = make_reference(product);
    const Sizes sizes = product.sizes_small.back();
    const auto inputs = make_inputs(product, sizes, 9);
    const auto right = (*reference)->run(*inputs, sizes, Precision::truth);
    auto narrow = (*reference)->run(*inputs, sizes, Precision::task_dtype, Device::gpu);
    ASSERT_TRUE(narrow.ok()) << to_string(narrow.error());
    OutputTensor wide = (*right)[0];
    for (std::size_t i = 0; i < wide.bytes.size() / 8; ++i) {
      const double value = element<float>((*narrow)[0].bytes, i);
      std::memcpy(wide.bytes.data() + 8 * i, &value, 8);
    }
    EXPECT_LE(worst_difference(wide, (*right)[0]), 5e-6) << name;  // TF32 rounds to 5e-4
  }
}

TEST_F(ReferenceGpu, WantOfMemoryAndWrongTextAreErrors) {
  const Sizes sizes{{"n", 100}};
  const Task modest = suite_task("relu");
  const auto inputs = make_inputs(modest, sizes, 1);
  const auto message = [&](const std::string& body) {
    const auto reference = make_reference(task_with(body));
    EXPECT_TRUE(reference.ok()) << to_string(reference.error());
    const auto answer = (*reference)->run(*inputs, sizes, Precision::truth, Device::gpu);
    const bool wants_memory = body.find("1000000000000") != std::string::npos;
    EXPECT_EQ(!answer.ok() && is_want_of_memory(answer.error()), wants_memory) << body;
    return answer.ok() ? "no error" : to_string(answer.error());
  };
  const std::string memory = message("return torch.zeros([1000000000000], device=x.device)[:100] + x");
  EXPECT_NE(memory.find("out of memory"), std::string::npos) << memory;
  EXPECT_NE(memory.find("use smaller sizes"), std::string::npos) << memory;
  const std::string mixed = message("return x + torch.ones([100])");
  EXPECT_NE(mixed.find("device=x.device"), std::string::npos) << mixed;
  EXPECT_NE(message("return x.sum()").find("has the shape"), std::string::npos);
  EXPECT_EQ(message("return torch.relu(x)"), "no error");
}

TEST_F(ReferenceGpu, TimesRelu) {
  const Task task = suite_task("relu");
  const auto reference = make_reference(task);
  const Sizes sizes{{"n", 1 << 24}};
  const auto inputs = make_inputs(task, sizes, 1);
  const auto prepared = (*reference)->prepare(*inputs, Device::gpu);
  ASSERT_TRUE(prepared.ok()) << to_string(prepared.error());
  EXPECT_EQ((*prepared)->bytes(), std::int64_t{4} << 24);
  const auto times = (*reference)->time_us(**prepared, sizes, {});
  ASSERT_TRUE(times.ok()) << to_string(times.error());
  std::printf("relu at 2^24: %.2f us, %zu trials, %d exposed; enqueue %.1f us, %d flushes of %.1f us\n",
              median(times->trials_us), times->trials_us.size(), times->trials_exposed, times->enqueue_us,
              times->flushes, times->flush_us);
  EXPECT_GE(times->trials_us.size(), 3u);
  for (const double us : times->trials_us) EXPECT_GT(us, 0);
}

TEST_F(ReferenceGpu, TimesWithAndWithoutTf32) {
  const Task task = suite_task("matmul");
  const auto reference = make_reference(task);
  const Sizes sizes = task.sizes_train[0];
  const auto inputs = make_inputs(task, sizes, 1);
  const auto prepared = (*reference)->prepare(*inputs, Device::gpu);
  ASSERT_TRUE(prepared.ok()) << to_string(prepared.error());
  const auto exact = (*reference)->time_us(**prepared, sizes, {});
  const auto rounded = (*reference)->time_us(**prepared, sizes, {.allow_tf32 = true});
  ASSERT_TRUE(exact.ok()) << to_string(exact.error());
  ASSERT_TRUE(rounded.ok()) << to_string(rounded.error());
  std::printf("matmul at %s: %.1f us, with TF32 %.1f us: %.2f of it\n", to_string(sizes).c_str(),
              median(exact->trials_us), median(rounded->trials_us),
              median(rounded->trials_us) / median(exact->trials_us));
  EXPECT_GT(median(exact->trials_us), 0);
  EXPECT_GT(median(rounded->trials_us), 0);
}

}  // namespace
}  // namespace kw
