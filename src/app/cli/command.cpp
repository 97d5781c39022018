#include "app/cli/command.h"

#include <cstdio>
#include <iostream>

#include "app/cli/python_command.h"
#include "kernel/gpu/gpu_choice.h"
#include "kernel/task/task_file.h"

namespace kw::cli {

void add_json_flag(CLI::App& command, Context& context) {
  command.add_flag("--json", context.json, "print the result as JSON on standard output");
}

void add_gpu_option(CLI::App& command) {
  command.add_option_function<int>(
      "--gpu",
      [](const int& number) {
        if (const auto chosen = choose_gpu(number); !chosen.ok())
          throw CLI::ValidationError("--gpu", chosen.error().message);
      },
      "index of the GPU to use, for kernels, PyTorch and models");
  for (CLI::App* below : command.get_subcommands({})) add_gpu_option(*below);
}

Json to_json(const Error& error) {
  Json json{{"message", error.message}};
  if (!error.advice.empty()) json["advice"] = error.advice;
  if (!error.where.file.empty()) json["file"] = error.where.file;
  if (error.where.line > 0) json["line"] = error.where.line;
  if (error.where.column > 0) json["column"] = error.where.column;
  return json;
}

Json to_json(const Sizes& sizes) {
  Json json = Json::object();
  for (const auto& [name, value] : sizes) json[name] = value;
  return json;
}

void print_json(const Json& json) {
  // Bytes that are no UTF-8 may come from a user's file; they must not end the program.
  std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

void fail(Context& context, const Error& error, ExitCode code) {
  context.exit_code = code;
  if (context.json) {
    print_json({{"error", to_json(error)}});
  } else {
    std::fprintf(stderr, "kernelwright: %s\n", to_string(error).c_str());
  }
}

Result<Task> task_from_argument(const std::string& name_or_path) {
  if (name_or_path.ends_with(".py")) return import_python_task(name_or_path);
  const auto suite = suite_folder();
  // A path needs no suite; only a bare name does.
  if (!suite.ok() && name_or_path.find_first_of("/.") == std::string::npos) return suite.error();
  return find_task(suite.ok() ? *suite : std::filesystem::path(), name_or_path);
}

}  // namespace kw::cli
