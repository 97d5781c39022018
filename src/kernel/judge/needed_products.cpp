#include "kernel/judge/needed_products.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>

namespace kw {
namespace {

// Strassen's algorithm and its kind, several levels deep: not even cuBLAS does that, but somebody may.
constexpr double fast_algorithms = 0.5;
// Where the text has a mask, elements of the product may not be needed.
constexpr double masked = 0.25;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string without_spaces(std::string_view text) {
  std::string made;
  for (char c : text)
    if (!std::isspace(static_cast<unsigned char>(c))) made += c;
  return made;
}

// The arguments of the call whose bracket opens at `open`; empty when it does not close.
std::vector<std::string> arguments_at(std::string_view text, std::size_t open) {
  std::vector<std::string> arguments;
  int depth = 0;
  std::size_t start = open + 1;
  for (std::size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    const bool closes = c == ')' || c == ']' || c == '}';
    if ((closes && depth == 1) || (c == ',' && depth == 1)) {
      arguments.push_back(without_spaces(trimmed(text.substr(start, i - start))));
      start = i + 1;
    }
    if (closes && --depth == 0) return arguments;
  }
  return {};
}

struct Operand {
  std::string name;
  Dtype dtype = Dtype::float32;
  std::vector<std::int64_t> shape;

  double elements() const {
    double product = 1;
    for (const std::int64_t extent : shape) product *= static_cast<double>(extent);
    return product;
  }
};

class ProductReader {
 public:
  ProductReader(const Task& task, const Sizes& sizes) : task_(task), sizes_(sizes) {}

  NeededProducts read() {
    for (const TensorSpec& output : task_.outputs)
      if (const auto count = output.elements_at(sizes_); count.ok()) outputs_ += static_cast<double>(*count);
    for (const char* call : {"torch.matmul(", "torch.mm(", "torch.bmm("})
      for_calls(call, [&](const auto& arguments) { matmul(arguments, false); });
    for_calls("F.linear(", [&](const auto& arguments) { matmul(arguments, true); });
    for (const char* call : {"F.conv1d(", "F.conv2d(", "F.conv3d("})
      for_calls(call, [&](const auto& arguments) { convolution(arguments); });
    for_calls("F.scaled_dot_product_attention(", [&](const auto& arguments) { attention(arguments); });
    for (const char* word : {"mask", "where", "tril", "triu", "causal"})
      if (task_.pytorch.find(word) != std::string::npos) {
        found_.multiply_adds *= masked;
        break;
      }
    return found_;
  }

 private:
  template <class Visit>
  void for_calls(std::string_view call, Visit visit) const {
    const std::string_view text = task_.pytorch;
    for (std::size_t at = text.find(call); at != std::string_view::npos; at = text.find(call, at + 1))
      if (at == 0 || !is_name_character(text[at - 1])) visit(arguments_at(text, at + call.size() - 1));
  }

  // An input by its name, as it is or transposed; nothing else is known to be dense.
  std::optional<Operand> operand(std::string_view text) const {
    std::size_t end = 0;
    while (end < text.size() && is_name_character(text[end])) ++end;
    const std::string name(text.substr(0, end));
    const auto spec = std::find_if(task_.inputs.begin(), task_.inputs.end(),
                                   [&](const TensorSpec& input) { return input.name == name; });
    if (spec == task_.inputs.end() || spec->is_scalar() || assigned(name) || !drawn_freely(*spec)) return std::nullopt;
    const auto shape = spec->shape_at(sizes_);
    if (!shape.ok() || shape->size() < 2) return std::nullopt;
    Operand made{name, spec->dtype, *shape};
    std::string_view rest = text.substr(end);
    while (!rest.empty()) {
      const std::size_t before = rest.size();
      const std::size_t rank = made.shape.size();
      for (const std::string_view same :
           {".contiguous()", ".float()", ".double()", ".to(torch.float32)", ".to(torch.float64)", ".to(x.dtype)"})
        if (rest.starts_with(same)) rest.remove_prefix(same.size());
      for (const std::string_view turned :
           {".t()", ".T", ".mT", ".transpose(-2,-1)", ".transpose(-1,-2)", ".transpose(0,1)", ".transpose(1,2)"}) {
        const bool two = turned == ".t()" || turned == ".T" || turned == ".transpose(0,1)";
        if (!rest.starts_with(turned) || (two && rank != 2) || (turned == ".transpose(1,2)" && rank != 3)) continue;
        rest.remove_prefix(turned.size());
        std::swap(made.shape[rank - 1], made.shape[rank - 2]);
      }
      if (rest.size() == before) return std::nullopt;
    }
    return made;
  }

  // "x = ", but not "x == " or "f(x=".
  bool assigned(const std::string& name) const {
    const std::string& text = task_.pytorch;
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
      const std::size_t line = text.rfind('\n', at) + 1;
      if (!trimmed(std::string_view(text).substr(line, at - line)).empty()) continue;
      std::size_t after = at + name.size();
      if (after < text.size() && is_name_character(text[after])) continue;
      while (after < text.size() && text[after] == ' ') ++after;
      if (after < text.size() && std::string_view("=+-*/@,[").find(text[after]) != std::string_view::npos) return true;
    }
    return false;
  }

  // Many zeros could be skipped.
  bool drawn_freely(const TensorSpec& spec) const {
    const auto* integers = std::get_if<IntegerValues>(&spec.values);
    if (integers == nullptr) return true;
    const auto low = integers->low.evaluate(sizes_), high = integers->high.evaluate(sizes_);
    return low.ok() && high.ok() && *high - *low >= 4;
  }

  void count(double multiply_adds, double result, Dtype dtype) {
    const double needed = multiply_adds * fast_algorithms * std::min(1.0, outputs_ / std::max(result, 1.0));
    if (needed <= found_.multiply_adds) return;
    found_ = {needed, dtype};
  }

  void matmul(const std::vector<std::string>& arguments, bool transposed) {
    if (arguments.size() < 2) return;
    const auto a = operand(arguments[0]);
    auto b = operand(arguments[1]);
    if (!a || !b) return;
    const std::size_t rank = b->shape.size();
    if (transposed) std::swap(b->shape[rank - 1], b->shape[rank - 2]);
    const bool batches =
        rank == 2 || (rank == a->shape.size() && std::equal(a->shape.begin(), a->shape.end() - 2, b->shape.begin()));
    if (!batches || a->shape.back() != b->shape[rank - 2]) return;
    const auto n = static_cast<double>(b->shape.back());
    // Of a product with itself half is known from the other half.
    const double alike = a->name == b->name ? 0.5 : 1;
    count(alike * a->elements() * n, a->elements() / static_cast<double>(a->shape.back()) * n, a->dtype);
  }

  // With Winograd's transform, or Fourier's, what remains of the window is one product for each element of the result.
  void convolution(const std::vector<std::string>& arguments) {
    if (arguments.size() < 2 || task_.outputs.size() != 1) return;
    const auto x = operand(arguments[0]), weight = operand(arguments[1]);
    const auto result = task_.outputs[0].shape_at(sizes_);
    if (!x || !weight || !result.ok() || result->size() != x->shape.size()) return;
    if (weight->shape.size() != x->shape.size() || (*result)[1] != weight->shape[0]) return;
    count(outputs_ * static_cast<double>(weight->shape[1]), outputs_, x->dtype);
  }

  void attention(const std::vector<std::string>& arguments) {
    if (arguments.size() < 3) return;
    const auto q = operand(arguments[0]), k = operand(arguments[1]), v = operand(arguments[2]);
    if (!q || !k || !v || k->shape.size() < 2 || q->shape.back() != k->shape.back()) return;
    // Two products of this size, of which one is counted.
    count(q->elements() * static_cast<double>(k->shape[k->shape.size() - 2]), q->elements(), q->dtype);
  }

  const Task& task_;
  const Sizes& sizes_;
  double outputs_ = 0;
  NeededProducts found_;
};

}  // namespace

NeededProducts needed_products(const Task& task, const Sizes& sizes) { return ProductReader(task, sizes).read(); }

}  // namespace kw
