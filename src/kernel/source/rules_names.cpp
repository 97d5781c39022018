// Names of functions that a kernel file must not use. A name counts wherever it is mentioned, not only where it is
// called, because `auto p = printf;` and conditional macros would hide a call. Exceptions: members (`x.free()`), and
// everyday words (`read`, `open`), which count only as calls and not when the file defines such a function.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "kernel/source/rules_names.h"
#include "kernel/source/rules_reach.h"
#include "kernel/source/rules_reading.h"

namespace kw {
namespace {

class NameRules {
 public:
  NameRules(RuleInput& input, const Reading& reading, const Policy& policy)
      : input_(input),
        reading_(reading),
        policy_(policy),
        tokens_(reading.tokens),
        unreached_(find_unreached_host_code(input, reading)) {}

  void run() {
    for (const Declaration& declaration : reading_.declarations) {
      if (declaration.kind == Declaration::Kind::function_body) defined_.insert(tokens_[declaration.name].text);
      if (declaration.in_type) members_.insert(declaration.name);
    }
    find_variables();
    find_types();
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      const Token& token = tokens_[at_];
      if (token.is("<<<")) check_launch();
      if (token.kind != TokenKind::identifier || is_member() || members_.contains(at_)) continue;
      if (token.is("new") || token.is("delete")) {
        check_new_delete();
      } else if (token.is("namespace") && behind() != nullptr && !before_is("using") &&
                 ((is_torch_namespace(behind()->text) && !is_native_namespace()) || behind()->is("std"))) {
        report("library-redefinition", "the namespace " + std::string(behind()->text) + " belongs to a library",
               "choose another name");
      } else if (token.is("import") && behind() != nullptr &&
                 (behind()->is("<") || behind()->kind == TokenKind::string)) {
        report("include", "an import of a header", "include only headers of the allowed list");
      } else if (reading_.sides[at_] == Side::host && is_error_report(token.text) && !is_own_word(token.text)) {
        report("host-output", std::string(token.text) + " in host code has no effect: the launcher is read, not run",
               "leave it for your own builds, or remove it", Severity::note);
      } else if (is_qualified_by("std") && is_using_declaration()) {
        // A name alone does nothing; where it is used, it is looked at there.
      } else if (is_qualified_by("std") && is_forbidden_in_std(token.text)) {
        report("host-call", "std::" + std::string(token.text) + " is host library code",
               "the launcher may only compute sizes and launch kernels");
      } else {
        check_name(token.text);
      }
    }
  }

 private:
  // `namespace at::native {`, or that in two and nothing beside: where PyTorch's own kernels stand, which no name that
  // the rules let through belongs to.
  bool is_native_namespace() const {
    if (!behind()->is("at") || at_ + 5 >= tokens_.size()) return false;
    if (tokens_[at_ + 2].is("::")) return tokens_[at_ + 3].is("native") && tokens_[at_ + 4].is("{");
    const std::size_t open = at_ + 2;
    const bool nested = tokens_[open].is("{") && tokens_[open + 1].is("namespace") && tokens_[open + 2].is("native") &&
                        tokens_[open + 3].is("{");
    return nested && reading_.closing[open + 3] + 1 == reading_.closing[open];
  }

  const Token* behind(std::size_t distance = 1) const {
    return at_ + distance < tokens_.size() ? &tokens_[at_ + distance] : nullptr;
  }
  bool before_is(std::string_view text, std::size_t distance = 1) const {
    return at_ >= distance && tokens_[at_ - distance].is(text);
  }
  bool is_call() const { return behind() != nullptr && behind()->is("("); }
  bool is_member() const { return before_is(".") || before_is("->"); }
  // `cout` is also how people call a number of output channels: a stream is qualified, or something is put into it.
  bool is_own_word(std::string_view name) const {
    const bool stream = name == "cout" || name == "cerr" || name == "clog" || name == "endl";
    return stream && !is_qualified_by("std") && !before_is("<<") && !(behind() != nullptr && behind()->is("<<"));
  }
  // `using std::cout;` and `using namespace std::chrono;`, the name.
  bool is_using_declaration() const {
    const bool named = before_is("using", 3) || (before_is("namespace", 3) && before_is("using", 4));
    return named && behind() != nullptr && behind()->is(";") && reading_.sides[at_] != Side::device;
  }
  bool is_qualified_by(std::string_view space) const { return before_is("::") && before_is(space, 2); }
  // `Lane::read` but not `std::read`, `cuda::std::read` or `::read`.
  bool is_qualified_by_own_name() const {
    return before_is("::") && at_ >= 2 && tokens_[at_ - 2].kind == TokenKind::identifier && !before_is("std", 2) &&
           !is_keyword(tokens_[at_ - 2].text);
  }

  void check_name(std::string_view name) {
    if (const ForbiddenName* forbidden = find_forbidden(name)) {
      if (is_allowed_by_policy(forbidden->rule)) return;
      if (forbidden->mention != Mention::anywhere && !is_used(*forbidden)) return;
      report(forbidden->rule, std::string(name) + " " + std::string(forbidden->why), std::string(forbidden->advice),
             severity_of(name));
    } else if (name.starts_with("cuda") && name.size() > 4 && name[4] >= 'A' && name[4] <= 'Z') {
      check_runtime_name(name);
    } else if (const std::string_view library = library_of(name, is_call()); !library.empty()) {
      // Types (cublasHandle_t) do nothing without a call.
      if (defined_.contains(name) || (name.ends_with("_t") && !is_call())) return;
      report("library-fallback", std::string(name.substr(0, 60)) + " belongs to " + std::string(library),
             "compute the result in kernels of this file");
    } else if (is_compiler_internal(name)) {
      report("compiler-internal", std::string(name.substr(0, 60)) + " is internal to the compiler",
             "use CUDA's documented intrinsics");
    } else if (behind() != nullptr && behind()->is("::") && is_torch_namespace(name)) {
      check_torch_name();
    } else if (behind() != nullptr && behind()->is("::") && is_library_namespace(name)) {
      report("library-fallback", "the namespace " + std::string(name) + " belongs to a library",
             "compute the result in kernels of this file");
    } else if (name.starts_with("Device") && is_qualified_by("cub")) {
      report("library-fallback", "cub::" + std::string(name.substr(0, 60)) + " launches a library's kernels",
             "use CUB's block and warp algorithms inside a kernel of this file");
    }
  }

  // `torch::empty(...)` makes a tensor, `at::matmul(...)` computes. Types and constants do nothing.
  void check_torch_name() {
    std::size_t last = at_;
    while (last + 2 < tokens_.size() && tokens_[last + 1].is("::") && tokens_[last + 2].kind == TokenKind::identifier) {
      last += 2;
    }
    const std::string_view name = tokens_[last].text;
    const bool call = last + 1 < tokens_.size() && tokens_[last + 1].is("(");
    if (before_is("::") || before_is("using")) return;
    const bool device = reading_.sides[at_] == Side::device;
    if (device ? is_allowed_torch_in_device(name) : !call || is_allowed_torch_call(name)) return;
    const std::string full = std::string(tokens_[at_].text) + "::" + std::string(name.substr(0, 60));
    report("library-fallback", full + " computes outside of this file's kernels",
           "compute the result in kernels of this file");
  }

  // Whether a word that honest code also uses for its own things means the library's function here.
  bool is_used(const ForbiddenName& forbidden) const {
    const std::string_view name = tokens_[at_].text;
    const bool own = defined_.contains(name) || is_qualified_by_own_name();
    if (forbidden.mention == Mention::call && own) return false;
    if (is_call()) {
      // The timer takes no arguments; `clock(x)` can only be the file's own function.
      return forbidden.mention != Mention::call_without_arguments || (behind(2) != nullptr && behind(2)->is(")"));
    }
    // (clock)() and p = &clock reach the function without looking like a call.
    const bool bracketed = before_is("(") && behind() != nullptr && behind()->is(")") && behind(2) != nullptr &&
                           behind(2)->is("(") && (at_ < 2 || tokens_[at_ - 2].kind != TokenKind::identifier);
    if (bracketed) return true;
    return !own && !variables_.contains(name) && (before_is("&") || before_is("=") || before_is("return"));
  }

  // Names that are declared as variables or parameters anywhere: `int free = 3;`.
  void find_variables() {
    for (std::size_t i = 1; i + 1 < tokens_.size(); ++i) {
      if (tokens_[i].kind != TokenKind::identifier) continue;
      const Token& before = tokens_[i - 1];
      const Token& next = tokens_[i + 1];
      const bool typed =
          (before.kind == TokenKind::identifier && !before.is("return") && !before.is("else") && !before.is("case")) ||
          before.is(">") || before.is("*") || before.is("&");
      const bool ends = next.is("=") || next.is(";") || next.is(",") || next.is(")") || next.is("[") || next.is("{");
      // `= &clock;` is a use and no declaration.
      const bool operand =
          i > 1 && !(tokens_[i - 2].kind == TokenKind::identifier || tokens_[i - 2].is(">") || tokens_[i - 2].is("*"));
      if (typed && ends && !(operand && before.kind == TokenKind::punctuator)) variables_.insert(tokens_[i].text);
    }
  }

  // Names that begin like CUDA's, of types of the file: `struct cudaVectorTypeInfo {`, `enum cudaFilterMode {`.
  void find_types() {
    for (std::size_t i = 1; i + 1 < tokens_.size(); ++i) {
      const bool record = tokens_[i - 1].is("struct") || tokens_[i - 1].is("class") || tokens_[i - 1].is("enum");
      const bool defines = tokens_[i + 1].is("{") || tokens_[i + 1].is(";") || tokens_[i + 1].is(":");
      if (record && defines && tokens_[i].kind == TokenKind::identifier) own_types_.insert(tokens_[i].text);
    }
  }

  bool is_allowed_by_policy(std::string_view rule) const {
    return (rule == "device-printf" && policy_.allow_printf) || (rule == "device-assert" && policy_.allow_assert) ||
           (rule == "device-malloc" && policy_.allow_device_malloc);
  }

  void check_runtime_name(std::string_view name) {
    const bool device = reading_.sides[at_] == Side::device;
    if (is_runtime_type_or_constant(name) || (own_types_.contains(name) && !is_call())) return;
    if (device && defined_.contains(name) && !may_be_of_runtime(name)) return;  // `cudaFilterPixel` of the file
    if (device) {
      report("dynamic-parallelism", std::string(name.substr(0, 60)) + " in device code starts or awaits other work",
             "launch every kernel from the launcher");
    } else if (!is_allowed_runtime_call(name) && !defined_.contains(name)) {
      // A file may call a helper of its own `cudaCheck`; no launcher ever runs, so it cannot hide the library's.
      const bool stream = name.starts_with("cudaStream") || name.starts_with("cudaEvent");
      report(stream ? "side-stream" : "cuda-host-call",
             std::string(name.substr(0, 60)) + " is not part of the launcher",
             stream ? "use the stream that the launcher is given and no events"
                    : "the launcher may launch kernels, allocate and clear scratch memory and query the device");
    }
  }

  void check_launch() {
    if (reading_.sides[at_] != Side::device) return;
    report("dynamic-parallelism", "a kernel launch in device code", "launch every kernel from the launcher");
  }

  void check_new_delete() {
    if (policy_.allow_device_malloc && !before_is("operator")) return;
    if (tokens_[at_].is("delete") && before_is("=")) return;
    if (before_is("operator")) {
      return report("device-malloc", "a replacement of operator " + std::string(tokens_[at_].text), "remove it");
    }
    if (tokens_[at_].is("new") && is_placement()) return;
    report("device-malloc", "memory from the heap with `" + std::string(tokens_[at_].text) + "`",
           "use registers, shared memory, or scratch memory that the launcher allocates");
  }

  // `new (place) Type`, not `new (Type)` and not `new (std::nothrow) Type`.
  bool is_placement() const {
    if (!is_call()) return false;
    const std::size_t end = reading_.closing[at_ + 1];
    if (end + 1 >= tokens_.size() || tokens_[end + 1].kind != TokenKind::identifier || end > at_ + 64) return false;
    return std::none_of(tokens_.begin() + static_cast<std::ptrdiff_t>(at_),
                        tokens_.begin() + static_cast<std::ptrdiff_t>(end),
                        [](const Token& token) { return token.is("nothrow"); });
  }

  void report(std::string_view rule, std::string message, std::string advice, Severity severity = Severity::error) {
    if (severity != Severity::note && unreached_[at_] && is_harmless_in_host_code(rule)) {
      severity = Severity::note;
      message += ", in a function that the launcher does not reach";
    }
    Violation violation = violation_at(input_, tokens_[at_], rule, severity, std::move(message), std::move(advice));
    if (severity != Severity::note) find_statement(violation);
    input_.add(std::move(violation));
  }

  // Rules against what only running host code could do. Device code has no such function (`fopen`), or the emulator
  // refuses to call it (`malloc`).
  static bool is_harmless_in_host_code(std::string_view rule) {
    static const std::unordered_set<std::string_view> rules = {"device-printf", "device-malloc",  "device-timer",
                                                               "device-trap",   "device-sleep",   "host-call",
                                                               "side-stream",   "cuda-host-call", "library-fallback"};
    return rules.contains(rule);
  }

  // What a kernel may do, and had better not: a failed assertion and a trap are findings when they happen, output goes
  // nowhere. The value of printf would tell where the kernel runs, so only a statement of its own is let through.
  Severity severity_of(std::string_view name) const {
    if (name == "assert") return Severity::note;
    if (name != "printf" && name != "__trap") return Severity::error;
    return statement_begin() < tokens_.size() ? Severity::warning : Severity::error;
  }

  // The first token of a statement that is this call and nothing else; tokens_.size() for anything else.
  std::size_t statement_begin() const {
    const std::size_t none = tokens_.size();
    if (!is_call()) return none;
    const std::size_t end = reading_.closing[at_ + 1];
    if (end + 1 >= tokens_.size() || !tokens_[end + 1].is(";")) return none;
    std::size_t first = at_;
    while (first >= 1 && (tokens_[first - 1].is("::") || tokens_[first - 1].is("std"))) --first;
    const bool own_statement =
        first > 0 && (tokens_[first - 1].is(";") || tokens_[first - 1].is("{") || tokens_[first - 1].is("}") ||
                      tokens_[first - 1].is("else") || ends_if_condition(first - 1));
    return own_statement && reading_.sides[at_] != Side::file ? first : none;
  }

  // `printf(...);` as a statement of its own can be left out.
  void find_statement(Violation& violation) const {
    const std::size_t first = statement_begin();
    if (first >= tokens_.size()) return;
    const std::size_t end = reading_.closing[at_ + 1];
    if (!is_as_written(input_.stream, tokens_[first]) || !is_as_written(input_.stream, tokens_[end]) ||
        !is_as_written(input_.stream, tokens_[at_])) {
      return;
    }
    violation.removable = true;
    violation.begin = tokens_[first].offset;
    violation.end = tokens_[end].end_offset();
  }

  bool ends_if_condition(std::size_t at) const {
    if (!tokens_[at].is(")")) return false;
    constexpr std::size_t longest = 200;  // tokens
    for (std::size_t i = at; i > 0 && at - i < longest; --i) {
      if (tokens_[i].is("(") && reading_.closing[i] == at) return tokens_[i - 1].is("if") || tokens_[i - 1].is("for");
    }
    return false;
  }

  RuleInput& input_;
  const Reading& reading_;
  const Policy& policy_;
  const std::vector<Token>& tokens_;
  std::unordered_set<std::string_view> defined_;  // functions
  std::unordered_set<std::string_view> variables_;
  std::unordered_set<std::string_view> own_types_;
  std::unordered_set<std::size_t> members_;  // tokens that declare a member's name
  std::vector<bool> unreached_;              // of each token: in host code that the launcher cannot reach
  std::size_t at_ = 0;
};

}  // namespace

void check_names(RuleInput& input, const Reading& reading, const Policy& policy) {
  NameRules(input, reading, policy).run();
}

}  // namespace kw
