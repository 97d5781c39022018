#include "agents/program/term_text.h"

#include <fmt/format.h>

#include <cmath>

#include "agents/program/joined_text.h"
#include "agents/program/term_map.h"

namespace kw::program {
namespace {

constexpr std::size_t longest_text = 64;

struct Text {
  std::string text;
  bool whole = true;  // needs no brackets
};

std::string in_brackets(const Text& text) { return text.whole ? text.text : "(" + text.text + ")"; }

}  // namespace

std::string number_text(const Term& constant) {
  if (constant.kind == TermKind::whole) {
    if (constant.dtype == Dtype::boolean) return constant.whole != 0 ? "true" : "false";
    if (constant.dtype == Dtype::int64) {
      if (constant.whole == INT64_MIN) return "(-9223372036854775807LL - 1)";
      return constant.whole < 0 ? fmt::format("({}LL)", constant.whole) : fmt::format("{}LL", constant.whole);
    }
    if (constant.whole == INT32_MIN) return "(-2147483647 - 1)";
    return constant.whole < 0 ? fmt::format("({})", constant.whole) : fmt::format("{}", constant.whole);
  }
  const bool single = constant.dtype == Dtype::float32;
  if (std::isnan(constant.real))
    return single ? "__int_as_float(0x7fffffff)" : "__longlong_as_double(0x7fffffffffffffffLL)";
  if (std::isinf(constant.real)) {
    const std::string bits = single ? "__int_as_float(0x7f800000)" : "__longlong_as_double(0x7ff0000000000000LL)";
    return constant.real > 0 ? bits : "(-" + bits + ")";
  }
  std::string text = single ? fmt::format("{}", static_cast<float>(constant.real)) : fmt::format("{}", constant.real);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (single) text += "f";
  return constant.real < 0 || text.starts_with('-') ? "(" + text + ")" : text;
}

namespace {

class TermWriter {
 public:
  TermWriter(const Graph& graph, const TermNames& names) : graph_(graph), names_(names) {}

  TermText write(const std::vector<TermId>& wanted) {
    const std::vector<TermId> terms = graph_.terms_of(wanted);  // parts come first
    for (std::size_t i = 0; i < terms.size(); ++i) places_.add(terms[i], static_cast<int>(i));
    uses_.resize(terms.size());
    texts_.resize(terms.size());
    for (const TermId each : wanted) ++uses_[place_of(each)];
    for (const TermId each : terms)
      for (const TermId part : graph_.term(each).parts) ++uses_[place_of(part)];
    for (std::size_t i = 0; i < terms.size(); ++i) write_term(graph_.term(terms[i]), i);
    for (const TermId each : wanted) made_.values.push_back(text_of(each).text);
    return std::move(made_);
  }

 private:
  std::size_t place_of(TermId term) const { return static_cast<std::size_t>(*places_.find(term)); }
  const Text& text_of(TermId term) const { return texts_[place_of(term)]; }

  void write_term(const Term& term, std::size_t place) {
    Text& text = texts_[place];
    switch (term.kind) {
      case TermKind::real:
      case TermKind::whole:
        text = {number_text(term), true};
        return;
      case TermKind::axis:
        text = {names_.axis(term.whole), true};
        return;
      case TermKind::extent:
        text.text = term.extent.text();
        text.whole = text.text.find(' ') == std::string::npos;
        if (text.whole) return;
        break;
      case TermKind::load:
        text = load_text(term);
        break;
      case TermKind::operation:
        text = term.op == ScalarOp::cast ? cast_text(term) : operation_text(term);
        break;
    }
    if (uses_[place] < 2 && text.text.size() <= longest_text) return;
    std::string name = names_.local();
    made_.lines.push_back(joined_text("const ", cuda_type_of(term.dtype), " ", name, " = ", text.text, ";"));
    text = {std::move(name), true};
  }

  Text load_text(const Term& term) const {
    const bool has_offset = term.parts.size() > (term.guarded ? 1U : 0U);
    const std::string element = names_.element(term, has_offset ? text_of(term.parts[0]).text : "0");
    if (!term.guarded) return {element, true};
    Term zero;
    zero.kind = is_floating_point(term.dtype) ? TermKind::real : TermKind::whole;
    zero.dtype = term.dtype;
    return {joined_text(in_brackets(text_of(term.parts.back())), " ? ", element, " : ", number_text(zero)), false};
  }

  Text cast_text(const Term& term) const {
    const std::string value = in_brackets(text_of(term.parts[0]));
    if (term.dtype == Dtype::boolean) return {value + " != 0", false};
    return {joined_text("(", cuda_type_of(term.dtype), ")", value), false};
  }

  Text operation_text(const Term& term) const {
    const ScalarOperation& row = operation_of(term.op);
    const Dtype from = graph_.term(term.parts[term.op == ScalarOp::select ? 1 : 0]).dtype;
    const std::string_view pattern = from == Dtype::float32   ? row.cuda_float
                                     : from == Dtype::float64 ? row.cuda_double
                                                              : row.cuda_whole;
    Text text;
    text.whole = pattern.ends_with(')') && pattern.find('(') != std::string_view::npos && pattern[0] != '$';
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] != '$') {
        text.text += pattern[i];
        continue;
      }
      // An argument that stands alone needs no brackets.
      const bool after = i > 0 && (pattern[i - 1] == '(' || (i > 1 && pattern[i - 2] == ','));
      const Text& part = text_of(term.parts[static_cast<std::size_t>(pattern[++i] - '0')]);
      const bool alone = after && i + 1 < pattern.size() && (pattern[i + 1] == ')' || pattern[i + 1] == ',');
      if (alone || part.whole)
        text.text += part.text;
      else
        (text.text += '(').append(part.text) += ')';
    }
    // Small types are computed as int and wrap around when they are put back.
    if (term.dtype == Dtype::int8 || term.dtype == Dtype::uint8)
      text = {joined_text("(", cuda_type_of(term.dtype), ")(", text.text, ")"), false};
    return text;
  }

  const Graph& graph_;
  const TermNames& names_;
  TermMap places_;           // of each term among those that are written
  std::vector<int> uses_;    // by place
  std::vector<Text> texts_;  // by place
  TermText made_;
};

}  // namespace

TermText write_terms(const Graph& graph, const std::vector<TermId>& terms, const TermNames& names) {
  return TermWriter(graph, names).write(terms);
}

}  // namespace kw::program
