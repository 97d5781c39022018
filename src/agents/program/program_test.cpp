#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "agents/program/evaluate.h"
#include "agents/program/read_program.h"
#include "agents/program/write_program.h"
#include "kernel/task/task_file.h"

namespace kw::program {
namespace {

Extent extent(const std::string& text) { return Extent::of(Expression::parse(text).value()).value(); }

TEST(Extents, HaveOneForm) {
  EXPECT_EQ(extent("heads * dim"), extent("dim * heads"));
  EXPECT_EQ(extent("(2 * w - 4) / 2"), extent("w - 2"));
  EXPECT_EQ(extent("(4 * w - 1) / 4").text(), "w - 1");
  EXPECT_EQ(extent("(w - 3) / 2 + 1").evaluate({{"w", 10}}).value(), 4);
  EXPECT_NE(extent("w + 1"), extent("w"));
}

TEST(Extents, HaveTheValueOfTheirText) {
  const Sizes sizes{{"h", 7}, {"w", 10}, {"wide", 3}};
  for (const char* text : {"0", "-3", "h * w * h - 2 * wide + 4", "(w * h - 3) / (2 * h) + 1", "w - wide * w",
                           "h * ((w - 1) / 4) * wide", "(h - 9) / 2"}) {
    const Extent made = extent(text);
    EXPECT_EQ(made.evaluate(sizes).value(), Expression::parse(made.text())->evaluate(sizes).value()) << text;
    EXPECT_EQ(extent(made.text()), made) << made.text();
    EXPECT_EQ(extent(made.text()).hash(), made.hash());
  }
  EXPECT_EQ(extent("wide * h + w * 2").text(), "h * wide + 2 * w");
  const auto unknown = extent("h * depth").evaluate(sizes);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("'depth'"), std::string::npos);
  EXPECT_FALSE(extent("h * h").evaluate({{"h", std::int64_t{1} << 40}}).ok());
}

TEST(Terms, AreKeptOnce) {
  Graph graph;
  const TermId first = graph.apply(ScalarOp::add, graph.axis(0), graph.extent(extent("h * w")));
  EXPECT_NE(graph.real(0.0), graph.real(-0.0));
  for (int i = 0; i < 2000; ++i) graph.whole(i);  // more than a small table holds
  const Graph copy = graph;
  for (Graph each : {graph, copy}) {
    const std::size_t before = each.term_count();
    EXPECT_EQ(each.apply(ScalarOp::add, each.axis(0), each.extent(extent("w * h"))), first);
    EXPECT_EQ(each.whole(1999), graph.whole(1999));
    EXPECT_EQ(each.term_count(), before);
  }
  const NodeId node = graph.add(Node{});
  graph.load(node, std::vector<TermId>(TermParts::most, first));
  EXPECT_TRUE(graph.beyond_limits());
}

// y[rows, cols] of x[rows, cols] = 0, 1, 2, ... and w[cols] = 1, 2, ...
Task task_of(const std::string& body, const std::string& y_shape = "rows,cols") {
  Task task;
  task.name = "asked";
  task.pytorch = "def reference(x, w):\n    " + body + "\n";
  const auto named = [](const std::string& name) { return Expression::parse(name).value(); };
  task.inputs = {{"x", Dtype::float32, {named("rows"), named("cols")}, {}}, {"w", Dtype::float32, {named("cols")}, {}}};
  task.outputs = {{"y", Dtype::float32, {}, {}}};
  for (std::size_t at = 0; at < y_shape.size();) {
    const std::size_t comma = std::min(y_shape.find(',', at), y_shape.size());
    task.outputs[0].shape.push_back(named(y_shape.substr(at, comma - at)));
    at = comma + 1;
  }
  task.size_names = {"rows", "cols"};
  task.sizes_small = task.sizes_train = {{{"rows", 2}, {"cols", 3}}, {{"rows", 4}, {"cols", 5}}};
  return task;
}

std::vector<double> answer(const Task& task) {
  const auto graph = read_program(task);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().message);
  if (!graph.ok()) return {};
  const std::vector<float> x{0, 1, 2, 3, 4, 5}, w{1, 2, 3};
  const auto bytes = [](const std::vector<float>& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  };
  const std::vector<InputTensor> inputs{{"x", Dtype::float32, {2, 3}, bytes(x)}, {"w", Dtype::float32, {3}, bytes(w)}};
  const auto made = evaluate_graph(*graph, task.sizes_small[0], inputs);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
  return made.ok() ? made->at(0).real : std::vector<double>{};
}

using Numbers = std::vector<double>;

std::string kernel_of(const Task& task) {
  const auto graph = read_program(task);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().message);
  const auto kernel = write_program(task, *graph);
  EXPECT_TRUE(kernel.ok()) << (kernel.ok() ? "" : kernel.error().message);
  return *kernel;
}

TEST(WrittenKernels, TakeAPlaceApartOnlyWhereTheyMust) {
  const std::string whole = kernel_of(task_of("return x * 2 + 1"));
  EXPECT_EQ(whole.find('%'), std::string::npos) << whole;
  EXPECT_NE(whole.find("x[i1]"), std::string::npos) << whole;
  const std::string by_column = kernel_of(task_of("return x * w"));
  EXPECT_NE(by_column.find("at % (cols)"), std::string::npos) << by_column;
  const std::string all = kernel_of(task_of("return (x * 3).sum().expand(x.shape[0])", "rows"));
  EXPECT_EQ(all.find('%'), std::string::npos) << all;
}

TEST(WrittenKernels, LeaveOutStepsThatAddNothing) {
  const std::string padded = kernel_of(task_of(
      "return F.conv1d(x.unsqueeze(1).expand(x.shape[0], 4, x.shape[1]), torch.ones(2, 4, 3), padding=1).sum(1)"));
  const std::size_t tap = padded.find("k1 < 3;"), condition = padded.find("if ((0 <= "),
                    channel = padded.find("k0 < 4;");
  ASSERT_NE(channel, std::string::npos) << padded;
  EXPECT_LT(tap, condition) << padded;
  EXPECT_LT(condition, channel) << padded;
}

// y[rows, cols] of x[rows, n] and w of `shape`, where n and cols are what `train` says.
std::string kernel_of_long(const std::string& body, const std::string& shape, const std::string& train) {
  const auto task =
      parse_task("name: long\nfamily: f\npytorch: |\n  def reference(x, w):\n      return " + body +
                     "\ninputs:\n  x: {dtype: float32, shape: [rows, n]}\n  w: {dtype: float32, shape: " + shape +
                     "}\noutputs:\n  y: {dtype: float32, shape: [rows, cols]}\n"
                     "tolerance: {relative: 0.000001, absolute: 0}\nsizes:\n"  // so no tensor cores
                     "  small: [{rows: 3, n: 40, cols: 4}]\n  train: [{" +
                     train + "}]\n",
                 "long.yaml");
  EXPECT_TRUE(task.ok()) << (task.ok() ? "" : task.error().message);
  return task.ok() ? kernel_of(*task) : "";
}

TEST(WrittenKernels, AddLongSumsUpInParts) {
  const std::string product = kernel_of_long("x @ w", "[n, cols]", "rows: 512, n: 8192, cols: 256");
  EXPECT_NE(product.find(" < n; v2 += 256) {\n    float v3 = 0.0f;"), std::string::npos) << product;
  EXPECT_NE(product.find("\n    v0 += v3;\n"), std::string::npos) << product;
  // What is inside of a loop may be a part as it is.
  const std::string pairs =
      kernel_of_long("torch.einsum('rn,ckn->rc', x, w)", "[cols, 64, n]", "rows: 512, n: 100, cols: 256");
  EXPECT_NE(pairs.find("k0 < 64; ++k0) {\n    float v"), std::string::npos) << pairs;
  // Each of a block's threads adds its own part.
  const std::string block =
      kernel_of_long("(x * x).sum(1, keepdim=True) + w", "[cols]", "rows: 4, n: 2000000, cols: 8");
  EXPECT_NE(block.find(" + threadIdx.x; v1 < n && v1 - v2 < 65536; v1 += 256) {"), std::string::npos) << block;
  EXPECT_EQ(kernel_of_long("x @ w", "[n, cols]", "rows: 512, n: 500, cols: 256").find("+= 256"), std::string::npos);
}

TEST(WrittenKernels, AddWhatIsNoProductInDoubles) {
  const std::string mean = kernel_of_long("x.mean(1, keepdim=True) + w", "[cols]", "rows: 512, n: 64, cols: 64");
  EXPECT_NE(mean.find("double v"), std::string::npos) << mean;
  const std::string window = kernel_of(task_of("return F.avg_pool1d(x, 3, 1, 1)"));
  EXPECT_EQ(window.find("double"), std::string::npos) << window;
}

TEST(Programs, AreEvaluated) {
  EXPECT_EQ(answer(task_of("return x * w + 1")), (Numbers{1, 3, 7, 4, 9, 16}));
  EXPECT_EQ(answer(task_of("return x.sum(-1)", "rows")), (Numbers{3, 12}));
  EXPECT_EQ(answer(task_of("return x @ w", "rows")), (Numbers{8, 26}));
  EXPECT_EQ(answer(task_of("return x.t().flatten()", "rows * cols")), (Numbers{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(answer(task_of("return torch.cumsum(x, 1)")), (Numbers{0, 1, 3, 3, 7, 12}));
  EXPECT_EQ(answer(task_of("return F.pad(x[:, 1:], [1, 0])")), (Numbers{0, 1, 2, 0, 4, 5}));
  EXPECT_EQ(answer(task_of("return torch.cat([x, -x], 0)", "2 * rows,cols")),
            (Numbers{0, 1, 2, 3, 4, 5, -0., -1, -2, -3, -4, -5}));
  EXPECT_EQ(answer(task_of("return torch.where(x > 2, x, w)")), (Numbers{1, 2, 3, 3, 4, 5}));
  EXPECT_EQ(answer(task_of("return torch.argmax(x, 0).float()", "cols")), (Numbers{1, 1, 1}));
  EXPECT_EQ(answer(task_of("return F.max_pool1d(x, 2, 1)", "rows,cols - 1")), (Numbers{1, 2, 4, 5}));
  EXPECT_EQ(answer(task_of("return torch.einsum('ij,j->i', x, w)", "rows")), (Numbers{8, 26}));
  const Numbers soft = answer(task_of("return torch.softmax(x, 1)"));
  ASSERT_EQ(soft.size(), 6U);
  EXPECT_NEAR(soft[0] + soft[1] + soft[2], 1, 1e-12);
  EXPECT_NEAR(soft[2] / soft[1], std::exp(1), 1e-12);
}

TEST(Programs, NameWhatTheyDoNotKnow) {
  const auto refused = read_program(task_of("return torch.fft.rfft(x)"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "the program uses `torch.fft.rfft`, which is not understood (line 2)");
  EXPECT_EQ(refused.error().where.line, 2);
  EXPECT_FALSE(read_program(task_of("return x", "cols,rows")).ok());
  EXPECT_FALSE(read_program(task_of("return x.view(3, 7)")).ok());
}

TEST(Programs, ScanBesideAnAxisOfOneElement) {
  const Task task = task_of("return torch.cumsum(x.amax(1, keepdim=True), 0)", "rows,1");
  const auto kernel = write_program(task, read_program(task).value());
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(kernel->find("i1"), std::string::npos) << *kernel;
}

// An axis of one element has no loop, so nothing may be indexed by its place.
TEST(Programs, ScatterASingleElement) {
  Task task = task_of("return torch.scatter_add(x, 1, w, x[:, :1])");
  task.inputs[1].dtype = Dtype::int64;
  task.inputs[1].shape = {Expression(1), Expression(1)};
  const auto kernel = write_program(task, read_program(task).value());
  ASSERT_TRUE(kernel.ok());
  EXPECT_NE(kernel->find("atomicAdd"), std::string::npos);
  EXPECT_NE(kernel->find("w[0]"), std::string::npos) << *kernel;
}

TEST(Programs, AreWrittenWithWhatFollowsAProductInItsKernel) {
  const Task task = task_of("return torch.relu(x @ w * 2)", "rows");
  const auto kernel = write_program(task, read_program(task).value());
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(kernel->find("cudaMallocAsync"), std::string::npos);
  EXPECT_NE(kernel->find("extern \"C\" void launch(const float* x, const float* w, float* y, int rows, int cols"),
            std::string::npos);
  std::size_t begin = 0;
  for (std::size_t end = kernel->find('\n'); end != std::string::npos; end = kernel->find('\n', begin)) {
    EXPECT_LE(end - begin, 116U);
    begin = end + 1;
  }
}

}  // namespace
}  // namespace kw::program
