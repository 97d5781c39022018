// What is refused at export, and what the written files say. That translated launchers plan as the interpreter does is
// tested by tests/export/launcher_plans.py over all kernels, because it takes Python to run them.

#include "kernel/export/export_request.h"

#include <gtest/gtest.h>

#include "kernel/export/python_file.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

constexpr const char* task_text = R"(
name: blur
pytorch: |
  def reference(x, bins: int):
      return torch.zeros(bins, (x.size(0) - 3) // 2 + 1)
inputs:
  x: {dtype: float32, shape: [width]}
  scale: {dtype: float16, shape: []}
outputs:
  y: {dtype: float32, shape: [bins, "(width - 3) / 2 + 1"]}
sizes:
  small: [{width: 33, bins: 4}]
  train: [{width: 4099, bins: 64}]
)";

ExportRequest request_for(const std::string& body, const std::string& before = "") {
  ExportRequest request;
  auto task = parse_task(task_text, "blur.yaml");
  EXPECT_TRUE(task.ok()) << (task.ok() ? "" : task.error().message);
  if (task.ok()) request.task = *task;
  request.text = "#include <cuda_fp16.h>\n" + before +
                 "__global__ void k(const float* x, __half s, float* y, int n) { y[0] = x[0] + n; }\n"
                 "extern \"C\" void launch(const float* x, __half scale, float* y, int width, int bins, cudaStream_t "
                 "stream) {\n" +
                 body + "\n}\n";
  auto file = read_kernel_file(request.text, "blur.cu");
  EXPECT_TRUE(file.ok());
  if (file.ok()) request.file = *file;
  request.version = "1.2";
  return request;
}

TEST(Export, TranslatesArithmeticWithItsTypes) {
  const ExportRequest request = request_for(
      "const int half = 128; unsigned blocks = (width + half - 1u) / half;\n"
      "for (int i = 0; i < bins; ++i) k<<<blocks, half, 0, stream>>>(x + i, scale, y, i * 2);");
  const auto launcher = translate_launcher(request.file, request.task);
  ASSERT_TRUE(launcher.ok()) << launcher.error().message;
  EXPECT_NE(launcher->python.find("def launch(rt, x, scale, y, width, bins):"), std::string::npos) << launcher->python;
  EXPECT_NE(launcher->python.find("u32("), std::string::npos) << launcher->python;
  EXPECT_NE(launcher->python.find("while (i < bins):"), std::string::npos) << launcher->python;
  ASSERT_EQ(launcher->kernels.size(), 1u);
  EXPECT_EQ(launcher->kernels[0].layout, (std::vector<std::string>{"\"p\"", "\"f16\"", "\"p\"", "\"i32\""}));
  EXPECT_FALSE(launcher->reads_addresses);
}

TEST(Export, NamesWhatItCannotTranslateAndTheWayOut) {
  const ExportRequest request = request_for("goto_like(width);", "int goto_like(int n);\n");
  const auto launcher = translate_launcher(request.file, request.task);
  ASSERT_FALSE(launcher.ok());
  EXPECT_EQ(launcher.error().where.line, 5);

  const ExportRequest runtime = request_for("cudaGraph_t graph; cudaGraphCreate(&graph, 0);");
  const auto refused = translate_launcher(runtime.file, runtime.task);
  ASSERT_FALSE(refused.ok());
  const ExportRequest unknown = request_for("cudaThing(width);\nk<<<1, 1, 0, stream>>>(x, scale, y, 1);");
  const auto thing = translate_launcher(unknown.file, unknown.task);
  ASSERT_FALSE(thing.ok());
  EXPECT_NE(thing.error().message.find("cudaThing"), std::string::npos) << thing.error().message;
  EXPECT_NE(thing.error().advice.find("--compile nvcc"), std::string::npos) << thing.error().advice;
}

TEST(Export, LooksAtAddressesOnlyWhereTheLauncherDoes) {
  const ExportRequest request = request_for(
      "if ((size_t)x % 16 == 0) k<<<1, 32, 0, stream>>>(x, scale, y, width);\n"
      "else k<<<2, 32, 0, stream>>>(x, scale, y, width);");
  const auto launcher = translate_launcher(request.file, request.task);
  ASSERT_TRUE(launcher.ok()) << launcher.error().message;
  EXPECT_TRUE(launcher->reads_addresses);
  const auto file = export_torch(request);
  ASSERT_TRUE(file.ok());
  EXPECT_NE(file->find("ALIGNMENT = 256"), std::string::npos);
}

TEST(Export, SizesThatNoShapeShowsAreParameters) {
  const ExportRequest request = request_for("k<<<1, 32, 0, stream>>>(x, scale, y, width);");
  EXPECT_EQ(given_sizes(request.task), std::vector<std::string>{"bins"});
  const auto file = export_torch(request);
  ASSERT_TRUE(file.ok());
  EXPECT_NE(file->find("SCHEMA = \"(Tensor x, float scale, SymInt bins) -> Tensor\""), std::string::npos);
  EXPECT_NE(file->find("def blur(x, scale, bins):"), std::string::npos);
  EXPECT_NE(file->find("lambda s: (s[\"width\"] - 3) // 2 + 1"), std::string::npos);
}

TEST(Export, TextsBecomePythonLiterals) {
  EXPECT_EQ(python_literal("a\\n"), "r'''a\\n'''");
  EXPECT_EQ(python_literal("it's '''odd'''"), "\"it's '''odd'''\"");
  EXPECT_EQ(python_literal("ends with \\"), "\"ends with \\\\\"");
  EXPECT_EQ(python_literal(std::string("\r\x01", 2)), "\"\\r\\u0001\"");
}

TEST(Export, CChecksSizesPointersAndElements) {
  const ExportRequest request = request_for("k<<<1, 32, 0, stream>>>(x, scale, y, width);");
  const auto files = export_c(request, "blur.h");
  ASSERT_TRUE(files.ok());
  EXPECT_NE(files->header.find("cudaError_t blur(const float* x, __half scale, float* y, int width, int bins, "
                               "cudaStream_t stream);"),
            std::string::npos)
      << files->header;
  EXPECT_NE(files->header.find("#include <cuda_fp16.h>"), std::string::npos);
  EXPECT_NE(files->source.find("if (bins < 1) return cudaErrorInvalidValue;"), std::string::npos);
  EXPECT_NE(files->source.find("((long long)width - 3) / 2 + 1"), std::string::npos) << files->source;
}

}  // namespace
}  // namespace kw
