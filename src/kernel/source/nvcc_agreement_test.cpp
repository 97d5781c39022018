// The launch plan against the truth: every naive kernel of the suite and every file of tests/launchers is built by
// nvcc, linked against a runtime that only records, and run for three sizes each. Kernels, shapes, every argument's
// bytes, memory operations and their order must be what the interpreter says. Kernel bodies are emptied first; only
// host code matters here.

#include <cxxabi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "base/file.h"
#include "kernel/source/interpreter.h"
#include "kernel/source/lexer.h"
#include "kernel/source/recorded_plan.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

const fs::path root = KW_SOURCE_ROOT;
constexpr std::size_t size_count = 3;
constexpr int translation_units = 2;

struct Launcher {
  std::string name;
  std::string text;
  Task task;
  std::vector<Sizes> sizes;
  ScalarInputs scalars;
  std::vector<LaunchPlan> plans;  // one a size
};

// "const float* x, float* y, int n" as a task of flat tensors with the product of all sizes as their length.
Task task_of_signature(const std::string& signature) {
  Task task;
  task.name = "signature";
  std::stringstream parts(signature);
  std::string part, product = "1";
  std::vector<TensorSpec> tensors;
  while (std::getline(parts, part, ',')) {
    const std::size_t begin = part.find_first_not_of(' ');
    part = part.substr(begin, part.find_last_not_of(' ') - begin + 1);
    const std::string name = part.substr(part.find_last_of(" *") + 1);
    const std::size_t star = part.find('*');
    if (star == std::string::npos) {
      task.size_names.push_back(name);
      product += " * " + name;
      continue;
    }
    const bool input = part.starts_with("const ");
    TensorSpec tensor;
    tensor.name = name;
    const std::string type = part.substr(input ? 6 : 0, star - (input ? 6 : 0));
    for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::bfloat16, Dtype::float64, Dtype::int32,
                              Dtype::int64, Dtype::int8, Dtype::uint8}) {
      if (cuda_type_of(dtype) == type) tensor.dtype = dtype;
    }
    tensor.shape.emplace_back(1);
    (input ? task.inputs : task.outputs).push_back(tensor);
  }
  for (auto* list : {&task.inputs, &task.outputs}) {
    for (TensorSpec& tensor : *list) tensor.shape = {Expression::parse(product).value()};
  }
  for (const std::int64_t base : {5, 64, 333}) {
    Sizes sizes;
    for (const std::string& name : task.size_names) sizes[name] = base + static_cast<std::int64_t>(sizes.size());
    task.sizes_small.push_back(sizes);
  }
  return task;
}

// Empties the body of every __global__ function, which makes the device compiler fast.
std::string without_kernel_bodies(const std::string& text) {
  const TokenStream stream = lex(text, "launcher");
  std::string result = text;
  for (std::size_t i = 0; i < stream.tokens.size(); ++i) {
    if (!stream.tokens[i].is("__global__")) continue;
    int round = 0;
    std::size_t k = i;
    for (; k < stream.tokens.size(); ++k) {
      if (stream.tokens[k].is("(")) ++round;
      if (stream.tokens[k].is(")")) --round;
      if (round == 0 && (stream.tokens[k].is("{") || stream.tokens[k].is(";"))) break;
    }
    if (k >= stream.tokens.size() || stream.tokens[k].is(";")) continue;
    const std::size_t begin = stream.tokens[k].offset + 1;
    int depth = 0;
    for (; k < stream.tokens.size(); ++k) {
      if (stream.tokens[k].is("{")) ++depth;
      if (stream.tokens[k].is("}") && --depth == 0) break;
    }
    if (k >= stream.tokens.size()) continue;
    for (std::size_t at = begin; at < stream.tokens[k].offset; ++at) {
      if (result[at] != '\n') result[at] = ' ';
    }
    i = k;
  }
  return result;
}

std::vector<Launcher> collect_launchers() {
  std::vector<Launcher> launchers;
  const auto suite = load_suite(root / "tasks");
  EXPECT_TRUE(suite.ok());
  for (const SuiteEntry& entry : *suite) {
    EXPECT_TRUE(entry.task.ok()) << entry.name;
    if (entry.task.ok()) launchers.push_back({"tasks/" + entry.name, entry.task->naive, *entry.task, {}, {}, {}});
  }
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(root / "tests" / "launchers")) {
    if (file.path().extension() == ".cu") files.push_back(file.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& path : files) {
    const std::string text = read_file(path).value();
    const std::string first = text.substr(0, text.find('\n'));
    Launcher launcher{path.filename().string(), text, {}, {}, {}, {}};
    if (first.starts_with("// task: ")) {
      auto task = load_task(root / "tasks" / first.substr(9));
      EXPECT_TRUE(task.ok()) << path;
      if (!task.ok()) continue;
      launcher.task = *task;
    } else {
      EXPECT_TRUE(first.starts_with("// signature: ")) << path;
      launcher.task = task_of_signature(first.substr(14));
    }
    launchers.push_back(std::move(launcher));
  }
  for (Launcher& launcher : launchers) {
    const std::vector<Sizes> all = launcher.task.all_sizes();
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}, all.size() - 1})
      launcher.sizes.push_back(all[std::min(i, all.size() - 1)]);
    double value = 0.75;
    for (const TensorSpec& input : launcher.task.inputs) {
      if (!input.is_scalar()) continue;
      launcher.scalars[input.name] = is_floating_point(input.dtype) ? value : 3;
      value += 0.5;
    }
  }
  return launchers;
}

// "_ZN4kw174rowsEPKfPfi" -> "rows(float const*,float*,int)", comparable with signature_of.
std::string demangled(const std::string& mangled, std::size_t launcher) {
  int status = 0;
  char* raw = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string text = status == 0 ? raw : mangled;
  std::free(raw);
  if (text.starts_with("void ")) text = text.substr(5);
  for (const std::string& scope : {"kw" + std::to_string(launcher) + "::", std::string("(anonymous namespace)::")}) {
    for (std::size_t at = 0; (at = text.find(scope)) != std::string::npos;) text.erase(at, scope.size());
  }
  return canonical(text);
}

bool same_line(const std::string& planned, const std::string& recorded, std::size_t launcher) {
  std::istringstream a(planned), b(recorded);
  const std::vector<std::string> x{std::istream_iterator<std::string>(a), {}},
      y{std::istream_iterator<std::string>(b), {}};
  if (x.size() != y.size() || x.empty()) return false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool kernel = i == 1 && (x[0] == "launch" || x[0] == "limit");
    if (kernel && x[0] == "limit") {
      const std::string full = demangled(y[i], launcher);
      if (full.substr(0, parameters_of(full)) != x[i]) return false;
    } else if (kernel ? !same_kernel(x[i], demangled(y[i], launcher)) : x[i] != y[i]) {
      return false;
    }
  }
  return true;
}

// All launchers of one translation unit, each in a namespace of its own; includes first, macros undefined behind.
void write_unit(const fs::path& path, const std::vector<Launcher>& launchers, int unit) {
  std::set<std::string> includes;
  std::ostringstream body;
  for (std::size_t i = static_cast<std::size_t>(unit); i < launchers.size(); i += translation_units) {
    std::istringstream lines(without_kernel_bodies(launchers[i].text));
    std::vector<std::string> macros;
    body << "#define launch launch_" << i << "\nnamespace kw" << i << " {\n#line 1 \"" << launchers[i].name << "\"\n";
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("#include")) {
        includes.insert(line);
        line.clear();
      }
      if (line.starts_with("#define ")) macros.push_back(line.substr(8, line.find_first_of(" (\\", 8) - 8));
      body << line << "\n";
    }
    body << "}\n#undef launch\n";
    for (const std::string& macro : macros) body << "#undef " << macro << "\n";
  }
  std::ofstream file(path);
  for (const std::string& include : includes) file << include << "\n";
  file << body.str();
}

void write_driver(const fs::path& path, const std::vector<Launcher>& launchers) {
  std::ofstream file(path);
  file << "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_runtime_api.h>\n#include <cstdint>\n"
       << "extern \"C\" void recording_begin(int, int, int, const unsigned*);\n"
       << "template <class T> T* buffer(int i) { return reinterpret_cast<T*>(static_cast<uintptr_t>(i + 1) << 40); }\n";
  std::ostringstream calls;
  for (std::size_t i = 0; i < launchers.size(); ++i) {
    const Launcher& launcher = launchers[i];
    std::string declaration = launcher.task.launcher_declaration();
    declaration.replace(declaration.find("launch("), 6, "launch_" + std::to_string(i));
    file << declaration << ";\n";
    for (std::size_t s = 0; s < launcher.sizes.size(); ++s) {
      calls << "  {\n    static const unsigned bytes[] = {";
      for (const KernelLaunch* launch : launcher.plans[s].launches()) {
        calls << launch->arguments.size() << ", ";
        for (const KernelArgument& argument : launch->arguments) calls << bytes_of(argument).size() << ", ";
      }
      calls << "0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};\n";
      int buffers = 0;
      std::ostringstream arguments;
      for (const Parameter& parameter : launcher.task.parameters()) {
        const std::string type(cuda_type_of(parameter.dtype));
        switch (parameter.role) {
          case Parameter::Role::input:
            arguments << "buffer<const " << type << ">(" << buffers++ << "), ";
            break;
          case Parameter::Role::output:
            arguments << "buffer<" << type << ">(" << buffers++ << "), ";
            break;
          case Parameter::Role::scalar:
            arguments << "static_cast<" << type << ">(static_cast<float>(" << launcher.scalars.at(parameter.name)
                      << ")), ";
            break;
          case Parameter::Role::size:
            arguments << launcher.sizes[s].at(parameter.name) << ", ";
            break;
          case Parameter::Role::stream:
            arguments << "reinterpret_cast<cudaStream_t>(0x5)";
            break;
        }
      }
      calls << "    recording_begin(" << i << ", " << s << ", " << buffers << ", bytes);\n    launch_" << i << "("
            << arguments.str() << ");\n  }\n";
    }
  }
  file << "int main() {\n" << calls.str() << "}\n";
}

TEST(NvccAgreementSlow, PlansAreWhatTheHostCodeDoes) {
  const fs::path cuda = root / ".deps" / "site-packages" / "nvidia" / "cu13";
  const fs::path nvcc = cuda / "bin" / "nvcc";
  if (!fs::exists(nvcc)) GTEST_SKIP() << "nvcc is not installed: " << nvcc;

  std::vector<Launcher> launchers = collect_launchers();
  for (Launcher& launcher : launchers) {
    const auto file = read_kernel_file(launcher.text, launcher.name);
    ASSERT_TRUE(file.ok()) << to_string(file.error());
    for (const Sizes& sizes : launcher.sizes) {
      auto plan = make_launch_plan(*file, launcher.task, sizes, {}, launcher.scalars);
      ASSERT_TRUE(plan.ok()) << launcher.name << " at " << to_string(sizes) << ": " << to_string(plan.error());
      launcher.plans.push_back(std::move(plan).value());
    }
  }
  EXPECT_GE(launchers.size(), 100u);

  const TemporaryFolder folder;
  const fs::path out = folder.path();
  std::ofstream script(out / "build.sh");
  script << "set -e\ncd '" << out.string() << "'\npids=\n";
  for (int unit = 0; unit < translation_units; ++unit) {
    const std::string name = "unit" + std::to_string(unit);
    write_unit(out / (name + ".cu"), launchers, unit);
    script << "'" << nvcc.string() << "' -std=c++17 -w -O0 -gencode arch=compute_80,code=compute_80 -c " << name
           << ".cu -o " << name << ".o & pids=\"$pids $!\"\n";
  }
  write_driver(out / "driver.cpp", launchers);
  script << "for pid in $pids; do wait $pid; done\n"
         << "c++ -std=c++17 -w -O0 -I'" << (cuda / "include").string() << "' driver.cpp '"
         << (root / "tests/launchers/recording_runtime.cpp").string() << "' unit*.o -o recorder\n"
         << "./recorder > recorded.txt\n";
  script.close();
  ASSERT_EQ(std::system(("sh '" + (out / "build.sh").string() + "'").c_str()), 0)
      << "building or running the recorder failed";

  std::ifstream recorded(out / "recorded.txt");
  std::string line;
  std::getline(recorded, line);
  std::size_t compared = 0, steps = 0, wrong = 0;
  for (std::size_t i = 0; i < launchers.size(); ++i) {
    for (std::size_t s = 0; s < launchers[i].sizes.size(); ++s) {
      ASSERT_EQ(line, "begin " + std::to_string(i) + " " + std::to_string(s)) << launchers[i].name;
      std::vector<std::string> actual;
      while (line.clear(), std::getline(recorded, line) && !line.starts_with("begin ")) actual.push_back(line);
      const LaunchPlan& plan = launchers[i].plans[s];
      const std::size_t count = std::max(actual.size(), plan.steps.size());
      for (std::size_t k = 0; k < count; ++k) {
        const std::string planned = k < plan.steps.size() ? line_of(plan.steps[k], plan) : "(nothing)";
        const std::string real = k < actual.size() ? actual[k] : "(nothing)";
        if (same_line(planned, real, i)) {
          ++steps;
        } else {
          ++wrong;
          ADD_FAILURE() << launchers[i].name << " at " << to_string(launchers[i].sizes[s]) << ", step " << k + 1
                        << "\n  plan: " << planned << "\n  nvcc: " << real;
        }
      }
      ++compared;
    }
  }
  EXPECT_EQ(compared, launchers.size() * size_count);
  std::cout << launchers.size() << " launchers at " << size_count << " sizes, " << compared << " plans and " << steps
            << " steps agree, " << wrong << " differ\n";
}

}  // namespace
}  // namespace kw
