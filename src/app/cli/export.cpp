#include <filesystem>
#include <iostream>

#include "app/cli/command.h"
#include "app/cli/kernel_argument.h"
#include "base/file.h"
#include "kernel/compile/service.h"
#include "kernel/export/export_request.h"
#include "kernel/source/interpreter.h"

namespace kw::cli {
namespace {

struct ExportArguments {
  std::string kernel;
  std::string task;
  std::string format;
  std::string output;
  std::string compile = "nvrtc";
  std::vector<std::string> cubins;
};

// Every kernel instance that the launcher may launch, compiled here for one architecture.
Result<ExportedCubin> make_cubin(const ExportRequest& request, const LauncherTranslation& launcher,
                                 const std::string& architecture) {
  const auto wanted = architecture_from_string(architecture);
  if (!wanted) return Error{"`" + architecture + "` is not an architecture", "for example: --cubin sm_90", {}};
  CompileRequest compile;
  compile.source = request.file.device_source;
  compile.file_name = request.file.file;
  compile.architecture = *wanted;
  for (const ExportedKernel& kernel : launcher.kernels) compile.kernels.push_back(kernel.name);
  const CompileResult result = CompileService().compile(compile);
  if (!result.ok()) {
    for (const Diagnostic& diagnostic : result.diagnostics) {
      if (diagnostic.severity != Severity::error) continue;
      const Position where{diagnostic.file, static_cast<int>(diagnostic.line), static_cast<int>(diagnostic.column)};
      return Error{diagnostic.message, diagnostic.advice, where};
    }
    return Error{"the kernel does not compile: " + result.explanation, "", {}};
  }
  ExportedCubin cubin{std::string(to_string(*wanted)), result.cubin, {}};
  for (const CompiledKernel& kernel : result.kernels) cubin.symbols[kernel.name] = kernel.symbol;
  return cubin;
}

Result<void> add_cubins(ExportRequest& request, const ExportArguments& arguments) {
  if (arguments.cubins.empty()) return {};
  if (arguments.format == "c" || arguments.compile == "nvcc") {
    return Error{"--cubin is for --as torch and --as cupy without --compile nvcc", "leave one of them out", {}};
  }
  KW_TRY(const LauncherTranslation launcher, translate_launcher(request.file, request.task));
  for (const std::string& architecture : arguments.cubins) {
    KW_TRY(ExportedCubin cubin, make_cubin(request, launcher, architecture));
    request.cubins.push_back(std::move(cubin));
  }
  return {};
}

Result<ExportRequest> make_request(const ExportArguments& arguments) {
  ExportRequest request;
  KW_TRY(request.task, task_from_argument(arguments.task));
  KW_TRY(request.text, read_kernel_argument(arguments.kernel));
  KW_TRY(request.file, read_kernel_file(request.text, arguments.kernel));
  // Whatever the form: the launcher must be one that the task implies.
  KW_TRY(const LaunchPlan plan, make_launch_plan(request.file, request.task, request.task.all_sizes().front()));
  static_cast<void>(plan);
  request.version = KW_VERSION;
  request.compile_with_nvcc = arguments.compile == "nvcc";
  KW_TRY_VOID(add_cubins(request, arguments));
  return request;
}

// Writes the files; their names.
Result<std::vector<std::string>> write_export(const ExportRequest& request, const ExportArguments& arguments) {
  const std::string name = function_name(request.task);
  if (arguments.format == "c") {
    std::filesystem::path source = arguments.output.empty() ? name + ".cu" : arguments.output;
    if (source.extension() != ".cu") {
      return Error{
          "the file for C must end in .cu", "for example: -o " + name + ".cu; " + name + ".h is written beside it", {}};
    }
    std::filesystem::path header = source;
    header.replace_extension(".h");
    KW_TRY(const CFiles files, export_c(request, header.filename().string()));
    KW_TRY_VOID(write_file_atomic(source, files.source));
    KW_TRY_VOID(write_file_atomic(header, files.header));
    return std::vector<std::string>{source.string(), header.string()};
  }
  const std::string path = arguments.output.empty() ? name + "_" + arguments.format + ".py" : arguments.output;
  KW_TRY(const std::string text, arguments.format == "torch" ? export_torch(request) : export_cupy(request));
  if (path == "-") {
    std::cout << text;
    return std::vector<std::string>{};
  }
  KW_TRY_VOID(write_file_atomic(path, text));
  return std::vector<std::string>{path};
}

void run_export(Context& context, const ExportArguments& arguments) {
  const auto request = make_request(arguments);
  if (!request.ok()) return fail(context, request.error());
  const auto files = write_export(*request, arguments);
  if (!files.ok()) return fail(context, files.error());
  if (context.json) {
    return print_json({{"task", request->task.name},
                       {"as", arguments.format},
                       {"function", function_name(request->task)},
                       {"files", *files}});
  }
  for (const std::string& file : *files) std::cout << "wrote " << file << "\n";
}

}  // namespace

void add_export_command(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("export", "A kernel for your program: a PyTorch operator, CuPy, or C");
  auto arguments = std::make_shared<ExportArguments>();
  add_json_flag(*command, context);
  command->add_option("KERNEL.cu", arguments->kernel, "the kernel file; - reads standard input")->required();
  command->add_option("--task", arguments->task, "a task of the suite by name, a task's folder, or a YAML file")
      ->required();
  command
      ->add_option(
          "--as", arguments->format,
          "torch: an operator that torch.compile takes; cupy: a function on arrays; c: a header and a file for nvcc")
      ->check(CLI::IsMember({"torch", "cupy", "c"}))
      ->required();
  command->add_option("-o,--output", arguments->output,
                      "the file to write (default: named after the task); - prints Python");
  command
      ->add_option("--compile", arguments->compile,
                   "nvrtc: no compiler is needed where it runs; nvcc: compiles the kernel file as a whole there")
      ->check(CLI::IsMember({"nvrtc", "nvcc"}))
      ->capture_default_str();
  command
      ->add_option("--cubin", arguments->cubins,
                   "carry compiled code for these architectures, such as sm_90, instead of source")
      ->delimiter(',');
  command->footer("Example:\n  kernelwright export examples/softmax_shared.cu --task softmax --as torch -o softmax.py");
  command->callback([&context, arguments] { run_export(context, *arguments); });
}

}  // namespace kw::cli
