#include "kernel/task/expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace kw {
namespace {

constexpr int max_nesting = 64;
constexpr std::size_t max_text_bytes = 1000;

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool continues_name(char c) { return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)); }

}  // namespace

// Recursive descent: sum := product (('+'|'-') product)*, product := unary (('*'|'/') unary)*, unary := '-' unary |
// number | name | '(' sum ')'.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : text_(text) {
    expression_.text_ = std::string(text);
    expression_.steps_.clear();  // the default expression is the constant 0
  }

  Result<Expression> parse() {
    if (text_.size() > max_text_bytes) return Error{"the expression is too long", "", {}};
    KW_TRY_VOID(sum(0));
    skip_space();
    if (at_ < text_.size()) return unexpected();
    return std::move(expression_);
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Error unexpected() const {
    const std::string found = at_ < text_.size() ? "'" + std::string(1, text_[at_]) + "'" : "the end";
    return Error{"did not expect " + found + " in the expression '" + std::string(text_) + "'",
                 "size names, whole numbers, + - * / and brackets are known",
                 {}};
  }

  void emit(char kind) { expression_.steps_.push_back({kind, 0, 0}); }

  Result<void> sum(int depth) {
    KW_TRY_VOID(product(depth));
    for (;;) {
      const char kind = take('+') ? '+' : take('-') ? '-' : '\0';
      if (kind == '\0') return {};
      KW_TRY_VOID(product(depth));
      emit(kind);
    }
  }

  Result<void> product(int depth) {
    KW_TRY_VOID(unary(depth));
    for (;;) {
      const char kind = take('*') ? '*' : take('/') ? '/' : '\0';
      if (kind == '\0') return {};
      KW_TRY_VOID(unary(depth));
      emit(kind);
    }
  }

  Result<void> unary(int depth) {
    if (depth > max_nesting) return Error{"the expression is nested too deeply", "", {}};
    if (take('-')) {
      KW_TRY_VOID(unary(depth + 1));
      emit('~');
      return {};
    }
    if (take('(')) {
      KW_TRY_VOID(sum(depth + 1));
      if (!take(')')) return unexpected();
      return {};
    }
    skip_space();
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) return number();
    if (at_ < text_.size() && starts_name(text_[at_])) {
      name();
      return {};
    }
    return unexpected();
  }

  Result<void> number() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) return Error{"the number in '" + std::string(text_) + "' is too large", "", {}};
    at_ = static_cast<std::size_t>(end - text_.data());
    if (at_ < text_.size() && continues_name(text_[at_])) return unexpected();
    expression_.steps_.push_back({'c', value, 0});
    return {};
  }

  void name() {
    const std::size_t start = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    const std::string found(text_.substr(start, at_ - start));
    auto& names = expression_.names_;
    auto known = std::find(names.begin(), names.end(), found);
    if (known == names.end()) known = names.insert(names.end(), found);
    expression_.steps_.push_back({'n', 0, static_cast<std::size_t>(known - names.begin())});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Expression expression_;
};

Expression::Expression(std::int64_t constant) : text_(std::to_string(constant)), steps_{{'c', constant, 0}} {}

Result<Expression> Expression::parse(std::string_view text) { return ExpressionParser(text).parse(); }

Result<std::int64_t> Expression::evaluate(const Sizes& sizes) const {
  std::vector<std::int64_t> stack;
  for (const Step& step : steps_) {
    if (step.kind == 'c') {
      stack.push_back(step.constant);
      continue;
    }
    if (step.kind == 'n') {
      const auto found = sizes.find(names_[step.name]);
      if (found == sizes.end()) return Error{"no value is given for the size '" + names_[step.name] + "'", "", {}};
      stack.push_back(found->second);
      continue;
    }
    const std::int64_t right = stack.back();
    stack.pop_back();
    std::int64_t left = 0;  // the unary minus is 0 - right
    if (step.kind != '~') {
      left = stack.back();
      stack.pop_back();
    }
    std::int64_t value = 0;
    bool overflow = false;
    switch (step.kind) {
      case '+':
        overflow = __builtin_add_overflow(left, right, &value);
        break;
      case '-':
      case '~':
        overflow = __builtin_sub_overflow(left, right, &value);
        break;
      case '*':
        overflow = __builtin_mul_overflow(left, right, &value);
        break;
      default:
        if (right == 0) return Error{"division by zero in '" + text_ + "'", "", {}};
        overflow = left == INT64_MIN && right == -1;
        if (!overflow) value = left / right;
    }
    if (overflow) return Error{"'" + text_ + "' overflows 64 bits", "", {}};
    stack.push_back(value);
  }
  KW_CHECK(stack.size() == 1);
  return stack.back();
}

Result<Sizes> parse_sizes(std::string_view text) {
  Sizes sizes;
  const Error expected{
      "the sizes '" + std::string(text.substr(0, 200)) + "' are not of the form rows=7,cols=129", "", {}};
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find(',', at);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view part = text.substr(at, end - at);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) return expected;
    const std::string name(part.substr(0, equals));
    if (!starts_name(name[0]) || !std::all_of(name.begin(), name.end(), continues_name)) return expected;
    std::int64_t value = 0;
    const char* last = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data() + equals + 1, last, value);
    if (error != std::errc() || stop != last) return expected;
    if (!sizes.emplace(name, value).second) return Error{"the size '" + name + "' is given twice", "", {}};
    at = end + 1;
    if (end + 1 == text.size()) return expected;  // a comma at the end
  }
  if (sizes.empty()) return expected;
  return sizes;
}

std::string to_string(const Sizes& sizes) {
  if (sizes.empty()) return "the fixed shapes";  // of a task whose shapes are numbers
  std::string text;
  for (const auto& [name, value] : sizes) {
    if (!text.empty()) text += ',';
    text += name + '=' + std::to_string(value);
  }
  return text;
}

}  // namespace kw
