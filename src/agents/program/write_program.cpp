#include "agents/program/write_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "agents/program/attention_writer.h"
#include "agents/program/contraction.h"
#include "agents/program/device_functions.h"
#include "agents/program/joined_text.h"
#include "agents/program/program_writer.h"

namespace kw::program {
namespace {

constexpr std::size_t widest_line = 110;
constexpr double strictest_tolerance = 0.0001;  // of a task, for which tensor cores are exact enough

std::string word_of(const std::string& operation) {
  std::string made;
  for (const char c : operation)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') made += c;
  return made.empty() ? "stage" : made;
}

}  // namespace

std::string listed(const std::string& begin, const std::vector<std::string>& items, const std::string& end,
                   int indent) {
  std::string text = begin;
  std::size_t width = begin.size() + static_cast<std::size_t>(indent);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool more = i + 1 < items.size();
    const std::size_t item_width = items[i].size() + (more ? 1 : 0);
    if (i > 0 && width + item_width + 1 > widest_line) {
      text.append("\n").append(static_cast<std::size_t>(indent) + 4, ' ');
      width = static_cast<std::size_t>(indent) + 4;
    } else if (i > 0) {
      text += " ";
      ++width;
    }
    text += items[i];
    if (more) text += ',';
    width += item_width;
  }
  return text + end;
}

ProgramWriter::ProgramWriter(const Task& task, Graph graph)
    : task_(task),
      all_sizes_(task.all_sizes()),
      graph_(std::move(graph)),
      addressing_(graph_, schedule_, [this](const Extent& count) { return is_large(count); }) {
  for (const Parameter& parameter : task.parameters()) taken_.insert(parameter.name);
  for (const char* word : {"threadIdx", "blockIdx", "blockDim", "at", "elements", "partial", "total", "stream"})
    taken_.insert(word);
  sizes_ = task.sizes_train.empty() ? Sizes{} : task.sizes_train[0];
}

Result<std::string> ProgramWriter::write() {
  soften_outputs();
  attentions_ = AttentionWriter(*this).find();
  schedule_ = make_schedule(graph_, sizes_, attentions_);
  for (const auto& [stage, attention] : attentions_)
    kept_in_16_bits_.merge(AttentionWriter(*this).kept_in_16_bits(attention));
  name_tensors();
  for (const Stage& stage : schedule_.stages) KW_TRY_VOID(write_stage(stage));
  if (graph_.beyond_limits()) return Error{"the program is too large for the library", "", {}};
  return file();
}

// Atomic sums need a type that has them: half types and bytes are summed in float and int, and cast behind.
void ProgramWriter::soften_outputs() {
  for (NodeId& output : graph_.outputs) {
    const Node from = graph_.node(output);
    if (from.kind != NodeKind::scatter || bytes_of(from.dtype) >= 4) continue;
    Node cast;
    cast.dtype = from.dtype;
    cast.shape = from.shape;
    cast.operation = "output";
    std::vector<TermId> at;
    for (std::size_t i = 0; i < from.shape.size(); ++i) at.push_back(graph_.axis(static_cast<int>(i)));
    cast.body = graph_.load(output, at);
    output = graph_.add(std::move(cast));
  }
}

std::string ProgramWriter::fresh(std::string name) {
  while (!taken_.insert(name).second) name += "_";
  return name;
}

void ProgramWriter::name_tensors() {
  names_.resize(graph_.node_count());
  kernels_.resize(graph_.node_count());
  for (std::size_t i = 0; i < graph_.node_count(); ++i) {
    const Node& node = graph_.node(static_cast<NodeId>(i));
    if (node.kind == NodeKind::input) names_[i] = node.operation;
  }
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
    names_[static_cast<std::size_t>(graph_.outputs[i])] = task_.outputs[i].name;
  for (const Stage& stage : schedule_.stages) {
    const auto at = static_cast<std::size_t>(stage.node);
    const std::string word = word_of(graph_.node(stage.node).operation);
    if (names_[at].empty()) names_[at] = fresh(fmt::format("{}_{}", word, stage.node));
    kernels_[at] = fresh(fmt::format("{}_stage{}", word, stage.node));
  }
}

bool ProgramWriter::is_output(NodeId id) const {
  return std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end();
}

// Scratch keeps what a kernel computes, so that half types are rounded once, at the end; but for attention's tiles.
Dtype ProgramWriter::stored_as(NodeId id) const {
  const Node& node = graph_.node(id);
  if (node.kind == NodeKind::input || is_output(id) || kept_in_16_bits_.contains(id)) return node.dtype;
  if (node.kind == NodeKind::scatter && bytes_of(node.dtype) < 4 && !is_floating_point(node.dtype)) return Dtype::int32;
  return computed_as(node.dtype);
}

bool ProgramWriter::is_large(const Extent& count) const {
  for (const Sizes& sizes : all_sizes_) {
    const auto value = count.evaluate(sizes);
    if (!value.ok() || *value > max_tensor_elements) return true;
  }
  return false;
}

// A task may say how exact it must be. Three products of bfloat16 are 0.000,01 off, those of TF32 a few times less.
bool ProgramWriter::wants_every_digit() const {
  const auto& tolerance = task_.tolerance;
  return tolerance && tolerance->relative < strictest_tolerance;
}

void ProgramWriter::decode(KernelText& kernel, const std::string& flat, const std::string& type, const Extents& shape,
                           const std::vector<std::string>& axes, const std::set<std::size_t>* wanted) {
  std::string rest = flat;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i].is(1)) continue;
    bool first = true;
    for (std::size_t k = 0; k < i; ++k) first = first && shape[k].is(1);
    const std::string extent = joined_text("(", shape[i].text(), ")");
    const bool used = wanted == nullptr || wanted->contains(i);
    kernel.note(shape[i]);
    if (used)
      kernel.add(joined_text("const int ", axes[i], " = ", rest, first ? "" : " % ", first ? "" : extent.c_str(), ";"));
    if (first) break;
    bool more = false;
    for (std::size_t k = 0; k < i; ++k) more = more || wanted == nullptr || wanted->contains(k);
    if (!more) break;
    const std::string next = fresh_local(kernel);
    kernel.add(joined_text("const ", type, " ", next, " = ", rest, " / ", extent, ";"));
    rest = next;
  }
}

std::pair<std::vector<std::string>, std::vector<std::string>> ProgramWriter::parameters_of(
    const KernelText& kernel, const std::string& target) const {
  std::vector<std::string> parameters, arguments;
  for (const NodeId id : kernel.reads) {
    const Node& node = graph_.node(id);
    const std::string& name = names_[static_cast<std::size_t>(id)];
    const bool scalar = node.kind == NodeKind::input && node.shape.empty();
    const std::string_view type_name = cuda_type_of(stored_as(id));
    parameters.push_back(scalar ? fmt::format("{} {}", type_name, name) : fmt::format("const {}* {}", type_name, name));
    arguments.push_back(name);
  }
  for (const auto& [name, type] : kernel.scratch) {
    parameters.push_back(fmt::format("const {}* {}", type, name));
    arguments.push_back(name);
  }
  parameters.push_back(target);
  arguments.push_back(target.substr(target.rfind(' ') + 1));
  for (const std::string& name : task_.size_names) {
    if (!kernel.has_size(name)) continue;
    parameters.push_back("int " + name);
    arguments.push_back(name);
  }
  return {parameters, arguments};
}

// The kernel around a body, and its launch.
void ProgramWriter::finish(const Stage& stage, KernelText& body, const Extents& space, bool block) {
  const Extent count = elements_of(space);
  const bool large = is_large(count);
  KernelText head;
  head.locals = body.locals;
  std::set<std::size_t> wanted;
  std::vector<std::string> axes;
  for (std::size_t i = 0; i < space.size(); ++i) {
    axes.push_back(axis_name(static_cast<std::int64_t>(i)));
    if (body.axes.contains(static_cast<std::int64_t>(i))) wanted.insert(i);
  }
  const std::string type = large ? "long long" : "unsigned";
  if (block) {
    head.add(fmt::format("const {} at = blockIdx.x;", type));
  } else {
    head.add(fmt::format("const {0} at = ({0})blockIdx.x * {1} + threadIdx.x;", type, threads_of_block));
    head.add("if (at >= elements) return;");
  }
  if (!wanted.empty()) decode(head, "at", type, space, axes, &wanted);
  for (const std::string& name : head.sizes)
    if (!body.has_size(name)) body.sizes.push_back(name);

  const auto at = static_cast<std::size_t>(stage.node);
  auto [parameters, arguments] =
      parameters_of(body, fmt::format("{}* {}", cuda_type_of(stored_as(stage.node)), names_[at]));
  if (!block) parameters.push_back(type + " elements");
  const std::string& kernel = kernels_[at];
  kernels_text_ += fmt::format("// {}\n", comment_of(stage));
  kernels_text_ += listed("__global__ void " + kernel + "(", parameters, ") {\n", 0);
  kernels_text_.append(head.lines).append(body.lines) += "}\n\n";

  std::string product = "1LL";
  for (const Extent& extent : space)
    if (!extent.is(1)) product += " * (" + extent.text() + ")";
  const std::string elements = "elements" + std::to_string(++launches_);
  launches_text_ += joined_text("  const long long ", elements, " = ", product, ";\n");
  if (!block) arguments.push_back(large ? elements : "(unsigned)" + elements);
  const std::string threads = std::to_string(threads_of_block);
  const std::string grid =
      block ? "(unsigned)" + elements
            : joined_text("(unsigned)((", elements, " + ", std::to_string(threads_of_block - 1), ") / ", threads, ")");
  launches_text_ +=
      listed(joined_text("  ", kernel, "<<<", grid, ", ", threads, ", 0, stream>>>("), arguments, ");\n", 2);
}

std::string ProgramWriter::comment_of(const Stage& stage) const {
  const Node& node = graph_.node(stage.node);
  std::string shape;
  for (const Extent& extent : node.shape) shape += (shape.empty() ? "" : ", ") + extent.text();
  std::string text = fmt::format("{} of [{}]", node.operation, shape);
  if (text.size() > 90) text = node.operation;
  return text + (stage.block_an_element ? ", a block an element" : ", a thread an element");
}

std::string ProgramWriter::file() const {
  std::string text;
  const std::string all = kernels_text_ + launches_text_ + task_.launcher_declaration();
  if (all.find("__half") != std::string::npos) text += "#include <cuda_fp16.h>\n";
  if (all.find("bfloat16") != std::string::npos) text += "#include <cuda_bf16.h>\n";
  if (!text.empty()) text += "\n";
  std::set<Arithmetic> used = contracted_;
  used.insert(attended_.begin(), attended_.end());
  text += half_products(used) + contraction_functions(contracted_) + attention_functions(attended_) +
          window_functions(kernels_text_) + device_functions(kernels_text_) + kernels_text_;
  std::vector<std::string> parameters;
  const std::string declaration = task_.launcher_declaration();
  const std::size_t open = declaration.find('(');
  std::string inside = declaration.substr(open + 1, declaration.rfind(')') - open - 1);
  for (std::size_t comma = inside.find(", "); comma != std::string::npos; comma = inside.find(", ")) {
    parameters.push_back(inside.substr(0, comma));
    inside.erase(0, comma + 2);
  }
  parameters.push_back(inside);
  text += listed(declaration.substr(0, open + 1), parameters, ") {\n", 0);
  std::string frees;
  for (const Stage& stage : schedule_.stages) {
    if (is_output(stage.node)) continue;
    const std::string& name = names_[static_cast<std::size_t>(stage.node)];
    const std::string_view type = cuda_type_of(stored_as(stage.node));
    std::string product = fmt::format("sizeof({})", type);
    for (const Extent& extent : graph_.node(stage.node).shape)
      if (!extent.is(1)) product += " * (" + extent.text() + ")";
    text += fmt::format("  {}* {} = nullptr;\n", type, name);
    text += fmt::format("  cudaMallocAsync(&{}, {}, stream);\n", name, product);
    frees += fmt::format("  cudaFreeAsync({}, stream);\n", name);
  }
  return text + launches_text_ + frees + "}\n";
}

Result<std::string> write_program(const Task& task, Graph graph) {
  return ProgramWriter(task, std::move(graph)).write();
}

}  // namespace kw::program
