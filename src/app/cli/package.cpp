// kernelwright package: agents in one file, for another machine.

#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "agents/episode/agent_package.h"
#include "agents/package/package_reader.h"
#include "app/cli/command.h"
#include "base/table.h"

namespace kw::cli {
namespace {

struct PackageArguments {
  std::string agents;
  std::string out;
  bool with_base = false;
  bool check = false;
};

void show_package(const Context& context, const std::string& file, const PackageManifest& manifest) {
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(file, ignored);
  const std::string base = manifest.base.name.empty() ? "carried" : manifest.base.name;
  if (context.json) {
    Json files = Json::array();
    for (const PackagedFile& each : manifest.files)
      files.push_back({{"name", each.name}, {"bytes", each.bytes}, {"sha256", each.sha256}});
    return print_json({{"package", file},
                       {"bytes", ignored ? 0 : bytes},
                       {"base", base},
                       {"fingerprint", manifest.fingerprint},
                       {"files", files}});
  }
  Table table({"file", "size", "SHA-256"}, {Align::left, Align::right, Align::left});
  for (const PackagedFile& each : manifest.files)
    table.add({each.name, bytes_text(static_cast<double>(each.bytes)), each.sha256.substr(0, 16) + "..."});
  std::cout << table.text()
            << fmt::format("{}: {} files, {}; base: {}\n", file, manifest.files.size(),
                           bytes_text(static_cast<double>(ignored ? 0 : bytes)), base);
}

void run_package(Context& context, const PackageArguments& arguments) {
  if (arguments.check) {
    if (!arguments.out.empty() || arguments.with_base)
      return fail(context, Error{"--check writes nothing", "leave out -o and --with-base", {}});
    const auto package = check_package(arguments.agents);
    if (!package.ok()) return fail(context, package.error());
    show_package(context, arguments.agents, package->manifest);
    if (!context.json) std::cout << "every byte is as it was packed\n";
    return;
  }
  if (arguments.out.empty()) return fail(context, Error{"where to write the package is not said", "-o agents.kwz", {}});
  const auto packed = pack_agents(arguments.agents, arguments.out, arguments.with_base);
  if (!packed.ok()) return fail(context, packed.error());
  show_package(context, arguments.out, *packed);
}

}  // namespace

void add_package_command(CLI::App& app, Context& context) {
  auto* package = app.add_subcommand("package", "Makes one file of all agents of a run or a set, for another machine");
  auto arguments = std::make_shared<PackageArguments>();
  add_json_flag(*package, context);
  package->add_option("AGENTS", arguments->agents, "a run, a set of agents, a model, or (--check) a package")
      ->required();
  package->add_option("-o,--out", arguments->out, "the file to write, such as agents.kwz");
  package->add_flag("--with-base", arguments->with_base, "carry a base that `model fetch` could fetch, too");
  package->add_flag("--check", arguments->check, "read every byte of the package AGENTS and list what is in it");
  package->footer(
      "Examples:\n"
      "  kernelwright package my-run -o agents.kwz\n"
      "  kernelwright package --check agents.kwz\n"
      "  kernelwright optimize softmax --model agents.kwz");
  package->callback([&context, arguments] { run_package(context, *arguments); });
}

}  // namespace kw::cli
