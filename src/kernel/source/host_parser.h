#pragma once
// Reads expanded tokens into HostProgram's declarations: a recursive-descent parser for the part of C++ that launchers
// are written in. Names that were declared as types or templates decide what C++ leaves ambiguous, `(T)x` and
// `f<N>(x)`. A function body that cannot be read keeps its error, which matters only when the launcher calls it; time
// is linear but for a bounded amount of looking ahead.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernel/source/host_syntax.h"

namespace kw {

// What a name stands for, as far as the grammar needs to know.
enum class NameKind : std::uint8_t { value, type, type_template, value_template };

// Scopes of names; a name of a closed namespace stays known, for qualified use.
class NameTable {
 public:
  NameTable() { open(); }
  void open() { scopes_.emplace_back(); }
  void close(bool keep_names);
  void declare(std::string_view name, NameKind kind) { scopes_.back()[name] = kind; }
  NameKind find(std::string_view name) const;  // `value` when it is unknown

 private:
  static const std::unordered_map<std::string_view, NameKind>& built_in();

  std::vector<std::unordered_map<std::string_view, NameKind>> scopes_;
};

class HostParser {
 public:
  explicit HostParser(HostProgram& program);
  void parse_file();

 private:
  friend class DepthGuard;

  // Tokens.
  const Token& token(std::size_t ahead = 0) const;
  bool at_end() const { return at_ >= end_; }
  bool is(std::string_view text, std::size_t ahead = 0) const;
  bool is_identifier(std::size_t ahead = 0) const;
  bool take(std::string_view text);
  bool expect(std::string_view text);
  std::string_view take_identifier(std::string_view what);
  TokenIndex here() const { return static_cast<TokenIndex>(at_); }
  void advance();
  void fail(std::string message, std::string advice = "");
  void fail_near(std::string_view expected);
  bool at_joined_close(std::size_t count) const;  // `>` times count without space between them
  void skip_balanced();                           // from an opening bracket to behind its partner
  std::size_t matching_close(std::size_t open) const;

  // Names and types (parse_type.cpp).
  Name parse_name(bool of_type = false);  // `of_type`: a `<` can only begin template arguments
  std::vector<TemplateArgument> parse_template_arguments();
  TemplateArgument parse_template_argument();
  bool names_type(const Name& name) const;
  bool names_template(std::string_view name) const;
  bool starts_type();
  bool starts_declaration();
  TypeSyntax* parse_type_specifier();
  void parse_pointers(TypeSyntax& type);
  void parse_arrays(TypeSyntax& type);
  const TypeSyntax* parse_type();  // with an abstract declarator
  std::vector<ParameterSyntax> parse_parameters(bool* variadic);
  bool parse_function_pointer(TypeSyntax& type, std::string_view* name);
  TemplateSyntax parse_template_head();

  // Expressions (parse_expression.cpp).
  const Expr* parse_expression();  // with commas
  const Expr* parse_assignment();
  const Expr* parse_binary(int lowest);
  const Expr* parse_unary();
  const Expr* parse_postfix(const Expr* operand);
  const Expr* parse_primary();
  const Expr* parse_bracket_or_cast();
  const Expr* parse_named_cast();
  const Expr* parse_sizeof();
  const Expr* parse_construct(const TypeSyntax* type);
  const Expr* parse_launch(const Expr* callee);
  const Expr* parse_braces();
  const Expr* parse_lambda();
  std::vector<const Expr*> parse_arguments(std::string_view close);
  Expr* make(ExprKind kind, TokenIndex token, std::vector<const Expr*> children = {});
  std::string_view binary_operator(int* precedence, std::size_t* tokens) const;
  const Expr* unsupported(std::string_view what);

  // Statements (parse_statement.cpp).
  const Stmt* parse_statement();
  // `{ ... }` with a scope of its own; parse_one() again and again until the bracket closes.
  template <class ParseOne>
  void parse_braces(const ParseOne& parse_one) {
    expect("{");
    names_.open();
    while (!failed_ && !is("}")) {
      if (at_end()) {
        fail_near("`}`");
        break;
      }
      parse_one();
    }
    names_.close(false);
    expect("}");
  }
  const Stmt* parse_block(bool of_switch = false);
  const Stmt* parse_if();
  // while, do, break, continue, return, labels of a switch; null where none begins.
  const Stmt* parse_loop_or_jump(TokenIndex at);
  // static_assert, using, typedef, struct, enum; null where none begins.
  const Stmt* parse_local_definition(TokenIndex at);
  const Stmt* parse_for();
  const Stmt* parse_switch();
  const Stmt* parse_simple_declaration(bool needs_semicolon);
  const Stmt* parse_condition(const Expr** value);
  std::string unknown_type() const;
  void parse_variables(const TypeSyntax& base, std::vector<VariableSyntax>& variables, bool is_static,
                       bool is_constexpr);
  Stmt* make(StmtKind kind, TokenIndex token);
  const AliasSyntax* parse_alias();  // after `using`, or from `typedef`
  bool parse_record_alias();         // typedef struct { ... } Name;

  // Declarations (parse_declaration.cpp, parse_record.cpp).
  struct Specifiers {
    bool is_static = false, is_constexpr = false, extern_c = false, is_extern = false, is_friend = false;
    bool is_global = false, is_device = false, is_host = false, is_memory = false;
    bool is_virtual = false, is_typedef = false;
    std::uint32_t alignment = 0;
    std::vector<const Expr*> launch_bounds;
  };
  struct Outline {
    std::size_t end = 0;  // behind the declaration
    bool is_function = false;
    bool has_body = false;
    bool is_global = false, is_device = false, is_host = false, is_constexpr = false;
    bool is_memory = false;  // __device__, __constant__ ... variable
    bool is_const = false;
    bool is_lambda = false;  // a variable initialised with one
    bool is_type = false;    // struct, enum, using, typedef, static_assert
    bool is_template = false;
    std::string_view name;
  };
  Outline outline() const;
  void outline_function(Outline& outline, std::size_t bracket) const;
  std::size_t skip_angles(std::size_t open) const;
  void parse_declarations(bool inside_braces);
  void parse_one_declaration();
  void read_declaration(const Outline& outline, bool extern_c);
  void record_range(const Outline& outline, std::size_t begin);
  void parse_namespace();
  void parse_using();
  void parse_exports();
  bool parse_specifier(Specifiers& specifiers);
  void parse_attributes(Specifiers& specifiers);
  void parse_function_or_variables(const Outline& outline, Specifiers specifiers, const TemplateSyntax& generic);
  FunctionSyntax* parse_function(Specifiers& specifiers, const TypeSyntax* result, const TemplateSyntax& generic,
                                 StructSyntax* owner);
  void parse_body(FunctionSyntax& function);
  void parse_member_initialisers(FunctionSyntax& function);
  // `only_name`: of one without a name of its own.
  StructSyntax* parse_struct(const TemplateSyntax& generic, std::string_view only_name = {});
  void parse_member(StructSyntax& structure);
  EnumSyntax* parse_enum(std::string_view only_name = {});

  HostProgram& program_;
  SyntaxStore& store_;
  NameTable names_;
  std::vector<std::string_view> scope_;
  std::vector<std::string_view> member_types_;  // of structs, known outside of them too
  int anonymous_depth_ = 0;
  bool extern_c_ = false;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::vector<std::uint32_t> partner_;  // of each bracket token its partner; the end for one without
  std::vector<bool> is_name_;           // of each token: an identifier that is no keyword
  int depth_ = 0;
  int angle_depth_ = 0;  // > 0 directly inside <...>, where `>` closes
  bool in_launch_configuration_ = false;
  bool case_allowed_ = false;  // directly in a switch's block
  bool failed_ = false;
  Error error_;
  std::size_t work_left_ = 0;  // bounds looking ahead

  std::string scope() const;
};

// Counts recursion; `ok` is false when it is too deep, and then the parser has failed.
class DepthGuard {
 public:
  explicit DepthGuard(HostParser& parser) : parser_(parser) {
    ok = ++parser_.depth_ <= max_syntax_depth;
    if (!ok) parser_.fail("the code is nested too deeply");
  }
  ~DepthGuard() { --parser_.depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
  bool ok;

 private:
  HostParser& parser_;
};

}  // namespace kw
