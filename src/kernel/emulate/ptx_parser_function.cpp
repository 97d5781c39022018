// Functions: signature, performance directives, body with its scopes and labels.

#include "kernel/emulate/ptx_parser_state.h"

namespace kw {
namespace {

// `(.param .b32 a, .param .align 8 .b8 b[16])`, after the parenthesis.
bool parse_parameters(PtxParser& parser, std::vector<PtxVariable>& parameters) {
  if (accept(parser, ')')) return true;
  do {
    const PtxToken space = parser.lexer.current();
    PtxDeclarator declarator;
    const bool in_register = space.is_dotted(".reg");
    if (!in_register && !space.is_dotted(".param")) return fail(parser, "expected a parameter (.param)");
    declarator.variable.space = in_register ? PtxSpace::reg : PtxSpace::param;
    parser.lexer.advance();
    if (!count_variable(parser) || !parse_variable_type(parser, declarator)) return false;
    // A prototype's parameters may be nameless: `_`.
    if (!parse_variable_name(parser, declarator)) return false;
    declarator.variable.name = declarator.name;
    parameters.push_back(std::move(declarator.variable));
  } while (accept(parser, ','));
  return expect(parser, ')');
}

bool parse_three(PtxParser& parser, std::uint32_t (&values)[3]) {
  values[0] = values[1] = values[2] = 1;
  for (int i = 0; i < 3; ++i) {
    std::uint64_t value = 0;
    if (!expect_count(parser, "a number of threads", 0x7FFFFFFF, value)) return false;
    values[i] = static_cast<std::uint32_t>(value);
    if (i == 2 || !accept(parser, ',')) break;
  }
  return true;
}

bool parse_number(PtxParser& parser, std::uint32_t& value) {
  std::uint64_t number = 0;
  if (!expect_count(parser, "a number", 0xFFFFFFFF, number)) return false;
  value = static_cast<std::uint32_t>(number);
  return true;
}

// .maxntid and the others between the signature and the body.
bool parse_function_directives(PtxParser& parser, PtxFunction& function) {
  PtxLexer& lexer = parser.lexer;
  while (lexer.current().kind == PtxTokenKind::dotted) {
    const PtxToken directive = lexer.current();
    const std::string_view text = directive.text;
    lexer.advance();
    std::uint32_t ignored = 0;
    std::uint32_t ignored_three[3];
    bool ok = true;
    if (text == ".maxntid")
      ok = parse_three(parser, function.max_threads);
    else if (text == ".reqntid")
      ok = parse_three(parser, function.required_threads);
    else if (text == ".minnctapersm")
      ok = parse_number(parser, function.min_blocks_per_sm);
    else if (text == ".maxnreg")
      ok = parse_number(parser, function.max_registers);
    else if (text == ".maxnctapersm" || text == ".maxclusterrank" || text == ".abi_preserve" ||
             text == ".abi_preserve_control")
      ok = parse_number(parser, ignored);
    else if (text == ".reqnctapercluster")
      ok = parse_three(parser, ignored_three);
    else if (text == ".pragma")
      ok = skip_to_semicolon(parser);
    else if (text != ".noreturn" && text != ".explicitcluster" && text != ".blocksareclusters") {
      return fail(parser, directive, quoted_ptx(text) + " is not expected after a function's signature");
    }
    if (!ok) return false;
  }
  return true;
}

// Numbered downwards from -1, see PtxName::index.
bool declare_parameters(PtxParser& parser, PtxFunctionBody& body, const PtxToken& at) {
  int number = -1;
  for (const std::vector<PtxVariable>* list : {&body.function->returns, &body.function->parameters}) {
    for (const PtxVariable& parameter : *list) {
      const bool ok = parameter.space == PtxSpace::reg
                          ? declare_register(parser, body, at, parameter.name, parameter.type)
                          : body.names.declare(parameter.name, {PtxNameKind::variable, number});
      if (!ok) return fail(parser, at, "two parameters are called " + quoted_ptx(parameter.name));
      --number;
    }
  }
  return true;
}

// A label, or a list that is named like one. The current token is the colon.
bool parse_label(PtxParser& parser, PtxFunctionBody& body, const PtxToken& name) {
  PtxLexer& lexer = parser.lexer;
  lexer.advance();
  const std::string_view directive = lexer.current().kind == PtxTokenKind::dotted ? lexer.current().text : "";
  if (directive == ".branchtargets") {
    lexer.advance();
    const int index = static_cast<int>(body.tables.size());
    if (!body.names.declare(name.text, {PtxNameKind::branch_targets, index})) {
      return fail(parser, name, quoted_ptx(name.text) + " is declared twice in the same scope");
    }
    std::vector<PtxLabelUse>& table = body.tables.emplace_back();
    do {
      const PtxToken at = lexer.current();
      std::string_view label;
      if (!expect_identifier(parser, "a label", label)) return false;
      table.push_back({label, body.labels.scope(), at.line, -1});
    } while (accept(parser, ','));
    return expect(parser, ';');
  }
  if (directive == ".callprototype" || directive == ".calltargets") {
    const PtxNameKind kind = directive == ".callprototype" ? PtxNameKind::prototype : PtxNameKind::call_targets;
    if (!body.names.declare(name.text, {kind, -1})) {
      return fail(parser, name, quoted_ptx(name.text) + " is declared twice in the same scope");
    }
    return skip_to_semicolon(parser);
  }
  if (!body.labels.set(name.text, static_cast<int>(body.function->body.size()))) {
    return fail(parser, name, "label " + quoted_ptx(name.text) + " is set twice");
  }
  return true;
}

bool open_scope(PtxParser& parser, PtxFunctionBody& body) {
  if (body.names.depth() >= max_ptx_scope_depth) return fail(parser, "scopes are nested too deeply");
  parser.lexer.advance();
  body.names.open_scope();
  body.register_ranges.open_scope();
  body.labels.open_scope();
  return true;
}

void close_scope(PtxFunctionBody& body) {
  body.names.close_scope();
  body.register_ranges.close_scope();
  body.labels.close_scope();
}

bool parse_body_directive(PtxParser& parser, PtxFunctionBody& body) {
  const PtxToken directive = parser.lexer.current();
  if (declared_space(directive)) return parse_variables(parser, &body, {});
  parser.lexer.advance();
  if (directive.text == ".extern" && declared_space(parser.lexer.current()))
    return parse_variables(parser, &body, {true});
  if (directive.text == ".loc") return parse_location(parser);
  if (directive.text == ".reg") return parse_registers(parser, body);
  if (directive.text == ".pragma") {
    if (parser.lexer.current().text == "\"nounroll\"")
      body.function->not_unrolled.push_back(static_cast<std::uint32_t>(body.function->body.size()));
    return skip_to_semicolon(parser);
  }
  return fail(parser, directive, quoted_ptx(directive.text) + " is not expected in a function's body");
}

// One statement; an opened or closed scope counts as one.
bool parse_statement(PtxParser& parser, PtxFunctionBody& body) {
  PtxLexer& lexer = parser.lexer;
  const PtxToken token = lexer.current();
  if (token.kind == PtxTokenKind::dotted) return parse_body_directive(parser, body);
  if (token.is('{')) return open_scope(parser, body);
  if (token.is(';')) {
    lexer.advance();
    return true;
  }
  if (token.is_identifier() && lexer.next_is(':')) {
    lexer.advance();
    return parse_label(parser, body, token);
  }
  return parse_instruction(parser, body);
}

bool resolve_label(PtxParser& parser, const PtxFunctionBody& body, const PtxLabelUse& use, int& instruction) {
  const auto found = body.labels.find(use.text, use.scope);
  if (!found) return fail_at_line(parser, use.line, "label " + quoted_ptx(use.text) + " is not set in this function");
  instruction = *found;
  return true;
}

bool resolve_branches(PtxParser& parser, PtxFunctionBody& body) {
  std::vector<PtxInstruction>& instructions = body.function->body;
  for (const PtxLabelUse& use : body.branches) {
    PtxOperand& target = instructions[static_cast<std::size_t>(use.instruction)].operands[0];
    if (!resolve_label(parser, body, use, target.index)) return false;
  }
  for (const PtxIndexedBranch& branch : body.indexed_branches) {
    const std::vector<PtxLabelUse>& table = body.tables[static_cast<std::size_t>(branch.table)];
    std::vector<int>& targets = instructions[static_cast<std::size_t>(branch.instruction)].branch_targets;
    for (const PtxLabelUse& use : table) {
      // Many branches may name one long table.
      if (!count_operand(parser, 0)) return false;
      if (!resolve_label(parser, body, use, targets.emplace_back())) return false;
    }
  }
  return true;
}

// Whatever ends or is branched to at the closing brace returns.
void end_with_return(PtxParser& parser, PtxFunctionBody& body, std::uint32_t ptx_line) {
  std::vector<PtxInstruction>& instructions = body.function->body;
  const bool label_at_end = body.labels.highest() == static_cast<int>(instructions.size());
  if (!instructions.empty() && instructions.back().guard < 0 && !label_at_end) {
    const std::string& last = instructions.back().opcode;
    const bool leaves = last == "ret" || last == "exit" || last == "trap" || last == "bra" || last == "brx";
    if (leaves) return;
  }
  PtxInstruction& added = instructions.emplace_back();
  added.opcode = "ret";
  added.origin.line = static_cast<std::uint32_t>(parser.location + 1);
  added.origin.ptx_line = ptx_line;
}

bool parse_body(PtxParser& parser, PtxFunctionBody& body) {
  PtxLexer& lexer = parser.lexer;
  if (!open_scope(parser, body)) return false;
  while (true) {
    if (!lexer.current().is('}')) {
      if (!parse_statement(parser, body)) return false;
      continue;
    }
    close_scope(body);
    if (body.names.depth() == 0) break;
    lexer.advance();
  }
  const std::uint32_t end_line = lexer.current().line;
  lexer.advance();
  end_with_return(parser, body, end_line);
  return resolve_branches(parser, body);
}

// A definition takes the place of its prototype, so that the order of functions is the order of first mention.
bool place_function(PtxParser& parser, const PtxToken& at, PtxFunction&& function, std::size_t& index) {
  std::vector<PtxFunction>& functions = parser.module.functions;
  if (const PtxName* known = parser.module_names.find(at.text)) {
    if (known->kind != PtxNameKind::function) return fail(parser, at, quoted_ptx(at.text) + " is declared twice");
    index = static_cast<std::size_t>(known->index);
    PtxFunction& earlier = functions[index];
    if (!function.external) {
      if (!earlier.external) return fail(parser, at, "function " + quoted_ptx(at.text) + " is defined twice");
      earlier = std::move(function);
    }
    return true;
  }
  if (functions.size() >= max_ptx_functions) return fail(parser, at, "the program has more than 50000 functions");
  index = functions.size();
  functions.push_back(std::move(function));
  parser.module_names.declare(at.text, {PtxNameKind::function, static_cast<int>(index)});
  return true;
}

}  // namespace

bool parse_function(PtxParser& parser, bool entry) {
  PtxLexer& lexer = parser.lexer;
  lexer.advance();
  PtxFunction function;
  function.entry = entry;
  if (lexer.current().is_dotted(".attribute")) {
    lexer.advance();
    if (!skip_parentheses(parser)) return false;
  }
  if (!entry && accept(parser, '(') && !parse_parameters(parser, function.returns)) return false;
  const PtxToken name = lexer.current();
  std::string_view text;
  if (!expect_identifier(parser, "the name of a function", text)) return false;
  function.name = text;
  if (accept(parser, '(') && !parse_parameters(parser, function.parameters)) return false;
  if (!parse_function_directives(parser, function)) return false;

  function.external = !lexer.current().is('{');
  std::size_t index = 0;
  if (function.external) return expect(parser, ';') && place_function(parser, name, std::move(function), index);
  if (!place_function(parser, name, std::move(function), index)) return false;
  PtxFunctionBody body;
  body.function = &parser.module.functions[index];
  parser.location = -1;
  return declare_parameters(parser, body, name) && parse_body(parser, body);
}

}  // namespace kw
