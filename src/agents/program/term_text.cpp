#include "agents/program/term_text.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

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

TermText write_terms(const Graph& graph, const std::vector<TermId>& terms, const TermNames& names) {
  std::map<TermId, int> uses;  // in order: a term's parts come first
  std::vector<TermId> open = terms;
  for (const TermId term : terms) ++uses[term];
  std::set<TermId> seen;
  while (!open.empty()) {
    const TermId at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    uses.try_emplace(at, 0);
    for (const TermId part : graph.term(at).parts) {
      ++uses[part];
      open.push_back(part);
    }
  }
  TermText made;
  std::map<TermId, Text> texts;
  for (const auto& [id, count] : uses) {
    const Term& term = graph.term(id);
    Text text;
    switch (term.kind) {
      case TermKind::real:
      case TermKind::whole:
        texts[id] = {number_text(term), true};
        continue;
      case TermKind::axis:
        texts[id] = {names.axis(term.whole), true};
        continue;
      case TermKind::extent:
        text = {term.extent.text(), term.extent.text().find(' ') == std::string::npos};
        break;
      case TermKind::load: {
        const std::string offset = term.parts.size() > (term.guarded ? 1U : 0U) ? texts[term.parts[0]].text : "0";
        text = {names.element(term, offset), true};
        if (term.guarded) {
          const Term zero{is_floating_point(term.dtype) ? TermKind::real : TermKind::whole,
                          ScalarOp::add,
                          term.dtype,
                          0,
                          0,
                          -1,
                          false,
                          {},
                          {}};
          text = {fmt::format("{} ? {} : {}", in_brackets(texts[term.parts.back()]), text.text, number_text(zero)),
                  false};
        }
        break;
      }
      case TermKind::operation: {
        const ScalarOperation& row = operation_of(term.op);
        const Dtype from = graph.term(term.parts[term.op == ScalarOp::select ? 1 : 0]).dtype;
        if (term.op == ScalarOp::cast) {
          text = {fmt::format("({}){}", cuda_type_of(term.dtype), in_brackets(texts[term.parts[0]])), false};
          if (term.dtype == Dtype::boolean) text = {fmt::format("{} != 0", in_brackets(texts[term.parts[0]])), false};
          break;
        }
        std::string_view pattern = from == Dtype::float32   ? row.cuda_float
                                   : from == Dtype::float64 ? row.cuda_double
                                                            : row.cuda_whole;
        const bool call = pattern.ends_with(')') && pattern.find('(') != std::string_view::npos && pattern[0] != '$';
        for (std::size_t i = 0; i < pattern.size(); ++i) {
          if (pattern[i] != '$') {
            text.text += pattern[i];
            continue;
          }
          // An argument that stands alone needs no brackets.
          const bool after = i > 0 && (pattern[i - 1] == '(' || (i > 1 && pattern[i - 2] == ','));
          const Text& part = texts[term.parts[static_cast<std::size_t>(pattern[++i] - '0')]];
          const bool alone = after && i + 1 < pattern.size() && (pattern[i + 1] == ')' || pattern[i + 1] == ',');
          text.text += alone ? part.text : in_brackets(part);
        }
        text.whole = call;
        // Small types are computed as int and wrap around when they are put back.
        if (term.dtype == Dtype::int8 || term.dtype == Dtype::uint8)
          text = {fmt::format("({})({})", cuda_type_of(term.dtype), text.text), false};
        break;
      }
    }
    const bool trivial = term.kind == TermKind::extent && text.whole;
    if (!trivial && (count > 1 || text.text.size() > longest_text)) {
      const std::string name = names.local();
      made.lines.push_back(fmt::format("const {} {} = {};", cuda_type_of(term.dtype), name, text.text));
      text = {name, true};
    }
    texts[id] = std::move(text);
  }
  for (const TermId term : terms) made.values.push_back(texts[term].text);
  return made;
}

}  // namespace kw::program
