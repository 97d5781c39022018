#pragma once
// `kernelwright data draw` and `data graphs`: drawn programs (agents/draw), and whether they hold what is held out.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "app/cli/command.h"

namespace kw::cli {

void add_draw_commands(CLI::App& data, Context& context);

// What `data check-leaks --kernelbench` looks at.
struct GraphLeakArguments {
  std::string kernelbench;
  std::string folder;        // a store; empty: the stream
  std::uint64_t stream = 0;  // programs of the stream
  std::uint64_t seed = 1;
  int workers = 0;
};
void show_graph_leaks(Context& context, const GraphLeakArguments& arguments);

}  // namespace kw::cli
