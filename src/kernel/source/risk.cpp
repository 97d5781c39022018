#include "kernel/source/risk.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "kernel/source/rules_reading.h"

namespace kw {
namespace {

constexpr std::size_t large_table_numbers = 1000;
constexpr std::uint64_t smallest_hard_coded_size = 16;

class RiskAssessment {
 public:
  RiskAssessment(const RuleInput& input, const Reading& reading, Risk& risk)
      : input_(input), reading_(reading), tokens_(reading.tokens), risk_(risk) {}

  void run() {
    find_constant_table();
    find_hard_coded_size();
    find_unlaunched_kernel();
    find_reduced_precision();
    find_spin_loop();
    find_word(0.05, "inline PTX", [](const Token& t) { return t.is("asm") || t.is("__asm__") || t.is("__asm"); });
  }

 private:
  void add(double points, std::string what, const Token& token) {
    risk_.reasons.push_back({std::move(what), points, position_of(token, input_.file())});
  }

  template <class Condition>
  void find_word(double points, const char* what, Condition condition) {
    const auto found = std::find_if(tokens_.begin(), tokens_.end(), condition);
    if (found != tokens_.end()) add(points, what, *found);
  }

  // Numbers of a brace list, inner lists included.
  void find_constant_table() {
    std::vector<std::pair<std::size_t, std::size_t>> open;  // the brace, and the numbers seen before it
    std::size_t numbers = 0;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind == TokenKind::number) ++numbers;
      if (tokens_[i].is("{")) open.emplace_back(i, numbers);
      if (!tokens_[i].is("}") || open.empty()) continue;
      const auto [brace, before] = open.back();
      open.pop_back();
      const bool initialiser = brace > 0 && (tokens_[brace - 1].is("=") || tokens_[brace - 1].is("]"));
      if (initialiser && numbers - before > large_table_numbers) {
        return add(0.20, "a table of " + std::to_string(numbers - before) + " numbers", tokens_[brace]);
      }
    }
  }

  void find_hard_coded_size() {
    for (std::size_t i = 1; i + 1 < tokens_.size(); ++i) {
      if (!tokens_[i].is("==")) continue;
      const Token& left = tokens_[i - 1];
      const Token& right = tokens_[i + 1];
      const bool name_first = left.kind == TokenKind::identifier && right.kind == TokenKind::number;
      const bool number_first = right.kind == TokenKind::identifier && left.kind == TokenKind::number;
      if (!name_first && !number_first) continue;
      const Token& name = name_first ? left : right;
      if (is_large(name_first ? right.text : left.text) && is_parameter(name.text)) {
        return add(0.10, "the size " + std::string(name.text.substr(0, 60)) + " is compared with a fixed number", name);
      }
    }
  }

  static bool is_large(std::string_view number) {
    std::uint64_t value = 0;
    for (const char c : number) {
      if (c < '0' || c > '9') return false;
      value = std::min<std::uint64_t>(value * 10 + static_cast<std::uint64_t>(c - '0'), 1u << 30);
    }
    return value >= smallest_hard_coded_size;
  }

  // A parameter of a function of this file whose type says that it is a whole number.
  bool is_parameter(std::string_view name) {
    if (!parameters_) {
      parameters_.emplace();
      for (const Declaration& declaration : reading_.declarations) {
        if (declaration.kind != Declaration::Kind::function_body) continue;
        for (std::size_t i = declaration.name + 1; i < declaration.last; ++i) {
          const bool whole = tokens_[i - 1].is("int") || tokens_[i - 1].is("long") || tokens_[i - 1].is("unsigned") ||
                             tokens_[i - 1].is("size_t") || tokens_[i - 1].text.ends_with("nt64_t");
          if (whole && tokens_[i].kind == TokenKind::identifier) parameters_->insert(tokens_[i].text);
        }
      }
    }
    return parameters_->contains(name);
  }

  void find_unlaunched_kernel() {
    std::unordered_map<std::string_view, std::size_t> mentions;
    for (const Token& token : tokens_) {
      if (token.kind == TokenKind::identifier) ++mentions[token.text];
    }
    for (const Declaration& declaration : reading_.declarations) {
      if (declaration.kind != Declaration::Kind::function_body) continue;
      const auto first = tokens_.begin() + static_cast<std::ptrdiff_t>(declaration.first);
      const auto name = tokens_.begin() + static_cast<std::ptrdiff_t>(declaration.name);
      const bool kernel = std::any_of(first, name, [](const Token& token) { return token.is("__global__"); });
      if (kernel && mentions[name->text] == 1) {
        return add(0.10, "the kernel " + std::string(name->text.substr(0, 60)) + " is never launched", *name);
      }
    }
  }

  void find_reduced_precision() {
    bool float_pointer = false, half_pointer = false;
    for (std::size_t i = 1; i < tokens_.size(); ++i) {
      if (!tokens_[i].is("*")) continue;
      float_pointer = float_pointer || tokens_[i - 1].is("float");
      half_pointer = half_pointer || tokens_[i - 1].is("__half") || tokens_[i - 1].is("half") ||
                     tokens_[i - 1].is("__nv_bfloat16") || tokens_[i - 1].is("__half2");
    }
    if (!float_pointer || half_pointer) return;
    static const std::unordered_set<std::string_view> words = {
        "__float2half", "__float2half_rn", "__floats2half2_rn",  "__float2bfloat16", "__float22half2_rn",
        "tf32",         "__float_to_tf32", "__float2bfloat16_rn"};
    find_word(0.10, "float values are converted to a smaller type", [](const Token& token) {
      return words.contains(token.text) ||
             (token.kind == TokenKind::string && token.text.find("tf32") != std::string_view::npos);
    });
  }

  void find_spin_loop() {
    for (std::size_t i = 0; i + 4 < tokens_.size(); ++i) {
      const bool endless_while = tokens_[i].is("while") && tokens_[i + 1].is("(") &&
                                 (tokens_[i + 2].is("true") || tokens_[i + 2].is("1")) && tokens_[i + 3].is(")");
      const bool endless_for = tokens_[i].is("for") && tokens_[i + 1].is("(") && tokens_[i + 2].is(";") &&
                               tokens_[i + 3].is(";") && tokens_[i + 4].is(")");
      if (!endless_while && !endless_for) continue;
      const std::size_t body = i + (endless_while ? 4 : 5);
      if (body >= tokens_.size()) return;
      const std::size_t end = tokens_[body].is("{") ? reading_.closing[body] : body + 1;
      const auto leaves = [](const Token& t) { return t.is("break") || t.is("return") || t.is("goto"); };
      const auto at = [&](std::size_t k) { return tokens_.begin() + static_cast<std::ptrdiff_t>(k); };
      if (std::none_of(at(body), at(std::min(end, tokens_.size())), leaves)) {
        return add(0.10, "a loop without an end", tokens_[i]);
      }
      i = body;
    }
  }

  const RuleInput& input_;
  const Reading& reading_;
  const std::vector<Token>& tokens_;
  Risk& risk_;
  std::optional<std::unordered_set<std::string_view>> parameters_;
};

double points_of(const Finding& finding) {
  if (finding.severity == Severity::error) return 0.50;
  if (finding.rule == "persistent-state" || finding.rule == "host-state") return 0.25;
  if (finding.rule == "asm-placement" || finding.rule == "asm-cache") return 0.15;
  return 0.05;
}

}  // namespace

Risk assess_risk(std::string_view text, std::string_view file, const Policy& policy) {
  Risk risk;
  std::vector<Finding> findings = check_rules(text, file, policy);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return points_of(a) > points_of(b); });
  std::unordered_set<std::string> counted;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::note) continue;
    if (counted.insert(finding.rule).second) {
      risk.reasons.push_back({finding.rule + ": " + finding.message, points_of(finding), finding.where});
    }
  }
  const RuleInput input = read_for_rules(text, file);
  RiskAssessment(input, input.readings.front(), risk).run();
  if (!input.made.empty()) risk.reasons.push_back({"names or strings are made by macros", 0.05, {input.file(), 0, 0}});
  // Points are hundredths: added as whole numbers, the score has no rounding noise.
  long hundredths = 0;
  for (const RiskReason& reason : risk.reasons) hundredths += static_cast<long>(reason.points * 100 + 0.5);
  risk.score = static_cast<double>(std::min(hundredths, 100L)) / 100;
  return risk;
}

}  // namespace kw
