#pragma once
// What read_program() works with; for its own sources only. read_program.cpp has inputs, outputs and expressions,
// read_calls.cpp names with a dot and calls, read_brackets.cpp indices and slices.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agents/program/lowering.h"
#include "agents/program/python_text.h"
#include "base/result.h"
#include "kernel/task/task.h"

namespace kw::program {

class ProgramReader {
 public:
  ProgramReader(const Task& task, const PythonFunction& python, Graph& graph)
      : task_(task), python_(python), to_(task, graph) {}
  Result<void> read();

 private:
  Result<void> add_inputs();
  Result<void> assign(const PythonAssignment& to, const Value& value);
  Result<void> add_outputs(const std::vector<Value>& results);
  int line_of(int node) const;
  Value refuse(const std::string& what, int line);
  static Value path(std::string text);
  Value real(double value);
  Value real_term(TermId term);
  Value evaluate(int id);
  Value number(const PythonNode& node);
  Value negated(const Value& value, int line);
  Value operation(const std::string& name, const std::vector<Value>& values, int line);
  Value lower(std::string_view module, const std::string& name, const std::vector<Value>& values,
              const std::vector<std::string>& keys, int line);
  Value binary(const PythonNode& node);
  Value arithmetic(const PythonNode& node, const Value& left, const Value& right);

  static std::optional<Dtype> dtype_named(std::string_view name);
  Value attribute(const Value& object, const PythonNode& node);
  Value shape_of(NodeId x);
  Value call(const PythonNode& node);
  Value builtin(const std::string& name, const std::vector<Value>& values, int line);

  Value subscript(const PythonNode& node);
  NodeId selected(NodeId x, int axis, const Extent& place);
  Value entry_of(const Value& list, const PythonNode& node);
  NodeId slice(NodeId x, int axis, const PythonNode& node);
  Value gather(NodeId x, const std::vector<std::pair<int, NodeId>>& gathered, int line);

  const Task& task_;
  const PythonFunction& python_;
  Lowering to_;
  std::map<std::string, NodeId> inputs_;
  std::map<std::string, Value> names_;
};

}  // namespace kw::program
