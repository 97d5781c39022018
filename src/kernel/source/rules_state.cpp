// What a file declares outside functions: state that survives a launch, code that runs before the launcher, names that
// belong to a library, arrays that no memory holds, and pointers made from numbers.

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "kernel/source/rules_names.h"
#include "kernel/source/rules_reading.h"

namespace kw {
namespace {

constexpr std::uint64_t max_array_elements = std::uint64_t{1} << 26;

class StateRules {
 public:
  StateRules(RuleInput& input, const Reading& reading) : input_(input), reading_(reading), tokens_(reading.tokens) {}

  void run() {
    for (const Declaration& declaration : reading_.declarations) {
      if (declaration.kind == Declaration::Kind::function_body) check_function(declaration);
      if (declaration.kind == Declaration::Kind::variable) check_variable(declaration);
    }
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].is("static")) check_static_local(i);
      if (tokens_[i].is("[") && i > 0 && tokens_[i - 1].kind == TokenKind::identifier) check_array(i);
      if (tokens_[i].is("reinterpret_cast")) check_cast(i);
      if (tokens_[i].is("*") && i + 2 < tokens_.size() && tokens_[i + 1].is(")")) check_c_cast(i);
    }
    check_written_state();
  }

 private:
  bool has(const Declaration& declaration, std::string_view word) const {
    return has(declaration.first, declaration.last, word);
  }
  // Among the specifiers: before the name, the initialiser and any brackets.
  bool has(std::size_t first, std::size_t last, std::string_view word) const {
    for (std::size_t i = first; i < last && i < first + 64; ++i) {
      if (tokens_[i].is("=") || tokens_[i].is("{") || tokens_[i].is(";")) return false;
      if (tokens_[i].is(word)) return true;
    }
    return false;
  }

  void check_function(const Declaration& declaration) {
    const Token& name = tokens_[declaration.name];
    const bool c_linkage = has(declaration, "extern");
    const bool internal = name.text.starts_with("__nv_") || name.text.starts_with("__cuda");
    if (!declaration.in_type && ((c_linkage && is_library_function(name.text)) || internal)) {
      report(name, "library-redefinition", Severity::error,
             std::string(name.text.substr(0, 60)) + " replaces a function of the library", "choose another name");
    }
  }

  void check_variable(const Declaration& declaration) {
    const bool device = has(declaration, "__device__") || has(declaration, "__managed__");
    if (has(declaration, "__constant__") || has(declaration, "__shared__") || has(declaration, "constexpr")) return;
    const bool constant = has(declaration, "const");
    if (device) {
      if (!constant) state_.emplace(tokens_[declaration.name].text, declaration.name);
      return;
    }
    const Token& first = tokens_[declaration.first];
    if (declaration.in_type || first.is("template") || first.is("asm")) return;
    if (declaration.last - declaration.first < 2 || first.kind != TokenKind::identifier) return;
    if (has(declaration, "extern") && !has_initialiser(declaration)) return;
    const Token& name = tokens_[declaration.name];
    if (runs_code(declaration)) {
      report(name, "static-constructor", Severity::error,
             "the global " + std::string(name.text.substr(0, 60)) + " is made by code that runs before the launcher",
             "make it constexpr or move it into the launcher");
    } else if (!constant) {
      report(name, "host-state", Severity::warning,
             "the host variable " + std::string(name.text.substr(0, 60)) + " lives longer than a call of the launcher",
             "keep what the launcher needs in its parameters and locals");
    }
  }

  bool has_initialiser(const Declaration& declaration) const {
    return declaration.last < tokens_.size() &&
           std::any_of(tokens_.begin() + static_cast<std::ptrdiff_t>(declaration.name),
                       tokens_.begin() + static_cast<std::ptrdiff_t>(declaration.last),
                       [](const Token& token) { return token.is("=") || token.is("{"); });
  }

  // `static uint* buffer;` or `= nullptr;`: a pointer has no constructor, whatever it points to.
  bool is_plain_pointer(const Declaration& declaration) const {
    const std::size_t name = declaration.name;
    if (name <= declaration.first || !tokens_[name - 1].is("*") || declaration.last > tokens_.size()) return false;
    for (std::size_t i = declaration.first; i < name; ++i) {
      if (tokens_[i].kind != TokenKind::identifier && !tokens_[i].is("*") && !tokens_[i].is("::")) return false;
    }
    std::size_t i = name + 1;
    if (i + 1 < declaration.last && tokens_[i].is("=")) {
      if (!tokens_[i + 1].is("nullptr") && !tokens_[i + 1].is("NULL") && !tokens_[i + 1].is("0")) return false;
      i += 2;
    }
    return i >= declaration.last || tokens_[i].is(";");
  }

  // A call, a lambda or a class with a constructor; numbers of built-in types are constants.
  bool runs_code(const Declaration& declaration) const {
    static const std::unordered_set<std::string_view> specifiers = {"static", "inline",  "const",       "volatile",
                                                                    "extern", "mutable", "thread_local"};
    static const std::unordered_set<std::string_view> builtin = {
        "int",      "unsigned", "signed", "long",    "short",   "char",    "float",       "double",      "bool",
        "auto",     "size_t",   "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t",     "uint16_t",    "uint32_t",
        "uint64_t", "void",     "std",    "dim3",    "float2",  "float4",  "cudaError_t", "cudaStream_t"};
    if (is_plain_pointer(declaration)) return false;
    bool type_seen = false;
    for (std::size_t i = declaration.first; i < declaration.last; ++i) {
      const Token& token = tokens_[i];
      const bool annotation = token.is("__attribute__") || token.is("alignas") || token.is("__align__");
      if (annotation || (token.is("[") && !type_seen)) {
        const std::size_t open = annotation ? i + 1 : i;
        if (open < declaration.last) i = reading_.closing[open];
        continue;
      }
      if (!type_seen && token.kind == TokenKind::identifier && !specifiers.contains(token.text)) {
        // `cublasHandle_t handle;` and `cudaDeviceProp properties;` have no constructor.
        const bool handle = token.text.ends_with("_t") && !library_of(token.text, false).empty();
        const bool plain = builtin.contains(token.text) || handle || token.is("cudaDeviceProp");
        if (!plain && !has_const_initialiser(declaration)) return true;
        type_seen = true;
      }
      if (token.is("(") && i > declaration.first && tokens_[i - 1].kind == TokenKind::identifier &&
          !is_keyword(tokens_[i - 1].text) && i != declaration.name + 1) {
        return true;
      }
      if (token.is("[") && i > declaration.name && (tokens_[i - 1].is("=") || tokens_[i - 1].is("("))) return true;
    }
    return false;
  }

  bool has_const_initialiser(const Declaration& declaration) const {
    return has(declaration, "const") && has_initialiser(declaration);
  }

  void check_static_local(std::size_t at) {
    const Side side = reading_.sides[at];
    if (side == Side::file) return;
    std::size_t end = at;
    while (end < tokens_.size() && end < at + 64 && !tokens_[end].is(";") && !tokens_[end].is("=") &&
           !tokens_[end].is("{") && !tokens_[end].is("[")) {
      ++end;
    }
    if (end >= tokens_.size() || has(at, end, "const") || has(at, end, "constexpr") || has(at, end, "__shared__") ||
        has(at, end, "__constant__") || (at > 0 && tokens_[at - 1].is("__shared__"))) {
      return;
    }
    if (side == Side::device) {
      report(tokens_[at], "persistent-state", Severity::warning, "a static variable of a kernel survives the launch",
             "keep state in registers and shared memory; start every launch from its inputs");
    } else {
      report(tokens_[at], "host-state", Severity::warning, "a static variable of the launcher survives the call",
             "keep what the launcher needs in its parameters and locals");
    }
  }

  // A __device__ variable that is only read is a table; one that is written can carry results between launches.
  void check_written_state() {
    if (state_.empty()) return;
    std::unordered_set<std::string_view> reported;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (reading_.sides[i] == Side::file || tokens_[i].kind != TokenKind::identifier) continue;
      const auto found = state_.find(tokens_[i].text);
      if (found == state_.end() || reported.contains(found->first) || !is_written(i)) continue;
      reported.insert(found->first);
      report(tokens_[found->second], "persistent-state", Severity::warning,
             "the device variable " + std::string(found->first.substr(0, 60)) + " is written and survives the launch",
             "use scratch memory that the launcher allocates and clears");
    }
  }

  bool is_written(std::size_t at) const {
    static const std::unordered_set<std::string_view> assignments = {
        "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "++", "--", "<<=", ">>="};
    if (at > 0 && (tokens_[at - 1].is("&") || tokens_[at - 1].is("++") || tokens_[at - 1].is("--"))) return true;
    if (at > 1 && tokens_[at - 1].is("(") && tokens_[at - 2].text.starts_with("atomic")) return true;
    std::size_t next = at + 1;
    bool indexed = false;
    while (next < tokens_.size()) {
      if (tokens_[next].is("[")) {
        next = reading_.closing[next];
        indexed = true;
      } else if (tokens_[next].is(".")) {
        ++next;
      } else {
        break;
      }
      if (next < tokens_.size()) ++next;
    }
    if (next >= tokens_.size()) return false;
    // The bare name of an array, `f(table)`, may be written through a pointer.
    const bool escapes = !indexed && (tokens_[next].is(",") || tokens_[next].is(")") || tokens_[next].is(";")) &&
                         is_array(at) && at > 0 && !tokens_[at - 1].is("sizeof");
    return escapes || assignments.contains(tokens_[next].text);
  }

  bool is_array(std::size_t at) const {
    const auto found = state_.find(tokens_[at].text);
    return found != state_.end() && found->second + 1 < tokens_.size() && tokens_[found->second + 1].is("[");
  }

  // The product of adjacent constant dimensions: [1024][1 << 20].
  void check_array(std::size_t at) {
    std::uint64_t elements = 1;
    std::size_t i = at;
    for (int dimensions = 0; i < tokens_.size() && tokens_[i].is("[") && dimensions < 8; ++dimensions) {
      const std::size_t end = reading_.closing[i];
      const std::optional<std::uint64_t> value = constant(i + 1, std::min(end, i + 32));
      if (!value || end >= tokens_.size()) return;
      elements = *value == 0 || elements <= UINT64_MAX / *value ? elements * *value : UINT64_MAX;
      i = end + 1;
    }
    const bool declares = i < tokens_.size() && at >= 2 &&
                          (tokens_[at - 2].kind == TokenKind::identifier || tokens_[at - 2].is(">") ||
                           tokens_[at - 2].is(",") || tokens_[at - 2].is(")"));
    if (declares && elements > max_array_elements) {
      report(tokens_[at - 1], "giant-array", Severity::error,
             "the array " + std::string(tokens_[at - 1].text.substr(0, 60)) + " has more than 67 million elements",
             "let the launcher allocate scratch memory");
    }
  }

  // Whole numbers with * + << and brackets; left to right is enough for a bound on sizes.
  std::optional<std::uint64_t> constant(std::size_t first, std::size_t last) const {
    std::optional<std::uint64_t> total;
    std::string_view operation;
    for (std::size_t i = first; i < last; ++i) {
      const Token& token = tokens_[i];
      if (token.is("(") || token.is(")")) continue;
      if (token.kind == TokenKind::number) {
        const std::optional<std::uint64_t> value = number(token.text);
        if (!value) return std::nullopt;
        if (!total) {
          total = *value;
        } else if (operation == "*") {
          total = *value == 0 || *total <= UINT64_MAX / *value ? *total * *value : UINT64_MAX;
        } else if (operation == "<<") {
          const bool fits = *value < 64 && (*total >> (63 - std::min<std::uint64_t>(*value, 63))) == 0;
          total = fits ? *total << *value : UINT64_MAX;
        } else if (operation == "+") {
          total = *total <= UINT64_MAX - *value ? *total + *value : UINT64_MAX;
        } else {
          return std::nullopt;
        }
      } else if (token.is("*") || token.is("<<") || token.is("+")) {
        operation = token.text;
      } else {
        return std::nullopt;
      }
    }
    return total;
  }

  static std::optional<std::uint64_t> number(std::string_view text) {
    const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    if (hexadecimal) text.remove_prefix(2);
    const std::uint64_t base = hexadecimal ? 16 : 10;
    std::uint64_t value = 0;
    for (const char c : text) {
      if (c == '\'' || c == 'u' || c == 'U' || c == 'l' || c == 'L' || c == 'z' || c == 'Z') continue;
      std::uint64_t digit = 99;
      if (c >= '0' && c <= '9') digit = static_cast<std::uint64_t>(c - '0');
      if (hexadecimal && c >= 'a' && c <= 'f') digit = static_cast<std::uint64_t>(c - 'a' + 10);
      if (hexadecimal && c >= 'A' && c <= 'F') digit = static_cast<std::uint64_t>(c - 'A' + 10);
      if (digit >= base) return std::nullopt;  // 1e30, 0b1
      if (value > (UINT64_MAX - digit) / base) return UINT64_MAX;
      value = value * base + digit;
    }
    return value;
  }

  bool is_address(const Token& token) const {
    return token.kind == TokenKind::number && number(token.text).value_or(0) != 0;
  }

  void check_cast(std::size_t at) {  // reinterpret_cast<float*>(0x7f00...)
    for (std::size_t i = at + 1; i + 2 < tokens_.size() && i < at + 16; ++i) {
      if (tokens_[i].is("(")) {
        if (tokens_[i - 1].is(">") && tokens_[i - 2].is("*") && is_address(tokens_[i + 1])) report_pointer(at);
        return;
      }
    }
  }

  void check_c_cast(std::size_t at) {  // (float*)0x7f00...
    if (at > 0 && tokens_[at - 1].kind == TokenKind::identifier && is_address(tokens_[at + 2])) report_pointer(at);
  }

  void report_pointer(std::size_t at) {
    report(tokens_[at], "fabricated-pointer", Severity::error, "a pointer made from a number",
           "reach memory only through the kernel's parameters");
  }

  void report(const Token& token, std::string_view rule, Severity severity, std::string message, std::string advice) {
    input_.add(violation_at(input_, token, rule, severity, std::move(message), std::move(advice)));
  }

  RuleInput& input_;
  const Reading& reading_;
  const std::vector<Token>& tokens_;
  std::unordered_map<std::string_view, std::size_t> state_;  // mutable __device__ variables, to the token of the name
};

}  // namespace

void check_state(RuleInput& input, const Reading& reading) { StateRules(input, reading).run(); }

}  // namespace kw
