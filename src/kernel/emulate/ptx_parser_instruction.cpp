// One instruction: guard, opcode with modifiers, operands; calls and branches have forms of their own.

#include "kernel/emulate/ptx_parser_state.h"

namespace kw {
namespace {

bool is_texture_opcode(std::string_view opcode) {
  return opcode == "tex" || opcode == "tld4" || opcode == "txq" || opcode == "suld" || opcode == "sust" ||
         opcode == "sured" || opcode == "suq" || opcode == "istypep";
}

bool parse_guard(PtxParser& parser, PtxFunctionBody& body, PtxInstruction& instruction) {
  instruction.guard_negated = accept(parser, '!');
  const PtxToken at = parser.lexer.current();
  std::string_view text;
  if (!expect_identifier(parser, "a predicate", text)) return false;
  instruction.guard = find_register(body, text);
  if (instruction.guard < 0) return fail(parser, at, "predicate " + quoted_ptx(text) + " is not declared");
  if (body.function->registers[static_cast<std::size_t>(instruction.guard)].type != PtxType::pred) {
    return fail(parser, at, quoted_ptx(text) + " is not a predicate");
  }
  return true;
}

// `a, b|c, d` up to the semicolon.
bool parse_operands(PtxParser& parser, PtxFunctionBody& body, PtxInstruction& instruction) {
  std::vector<PtxOperand>& operands = instruction.operands;
  if (parser.lexer.current().is(';')) return true;
  operands.reserve(4);
  while (true) {
    if (!count_operand(parser, operands.size())) return false;
    operands.emplace_back();
    if (!parse_operand(parser, body, operands.back())) return false;
    if (!accept(parser, ',') && !accept(parser, '|')) return true;
  }
}

// `(a, b)`, after the parenthesis.
bool parse_passed(PtxParser& parser, PtxFunctionBody& body, std::vector<PtxOperand>& passed) {
  if (accept(parser, ')')) return true;
  do {
    if (!count_operand(parser, passed.size())) return false;
    passed.emplace_back();
    if (!parse_operand(parser, body, passed.back())) return false;
  } while (accept(parser, ','));
  return expect(parser, ')');
}

// call (returns), callee, (arguments), prototype;  where everything but the callee may be missing.
bool parse_call(PtxParser& parser, PtxFunctionBody& body, PtxInstruction& instruction) {
  PtxLexer& lexer = parser.lexer;
  if (accept(parser, '(')) {
    if (!parse_passed(parser, body, instruction.call_returns) || !expect(parser, ',')) return false;
  }
  const PtxToken at = lexer.current();
  if (!count_operand(parser, 0)) return false;
  PtxOperand& callee = instruction.operands.emplace_back();
  if (!parse_operand(parser, body, callee)) return false;
  if (callee.kind != PtxOperand::Kind::symbol && callee.kind != PtxOperand::Kind::reg) {
    return fail(parser, at, "only a function or a register can be called");
  }
  if (!accept(parser, ',')) return true;
  if (accept(parser, '(')) {
    if (!parse_passed(parser, body, instruction.call_arguments)) return false;
    if (!accept(parser, ',')) return true;
  }
  // The prototype or list of targets of an indirect call says nothing that the passed variables do not say.
  const PtxToken prototype = lexer.current();
  std::string_view text;
  if (!expect_identifier(parser, "the prototype of an indirect call", text)) return false;
  const PtxName* name = body.names.find(text);
  if (!name || (name->kind != PtxNameKind::prototype && name->kind != PtxNameKind::call_targets)) {
    return fail(parser, prototype, "call prototype " + quoted_ptx(text) + " is not declared");
  }
  return true;
}

bool parse_branch(PtxParser& parser, PtxFunctionBody& body, PtxInstruction& instruction) {
  const PtxToken at = parser.lexer.current();
  std::string_view label;
  if (!expect_identifier(parser, "a label", label) || !count_operand(parser, 0)) return false;
  instruction.operands.emplace_back().kind = PtxOperand::Kind::label;
  body.branches.push_back({label, body.labels.scope(), at.line, static_cast<int>(body.function->body.size()) - 1});
  return true;
}

bool parse_indexed_branch(PtxParser& parser, PtxFunctionBody& body, PtxInstruction& instruction) {
  if (!count_operand(parser, 0)) return false;
  const PtxToken at_index = parser.lexer.current();
  PtxOperand& index = instruction.operands.emplace_back();
  if (!parse_operand(parser, body, index)) return false;
  if (index.kind != PtxOperand::Kind::reg && index.kind != PtxOperand::Kind::integer) {
    return fail(parser, at_index, "the index of a branch must be a register or a number");
  }
  if (!expect(parser, ',')) return false;
  const PtxToken at = parser.lexer.current();
  std::string_view table;
  if (!expect_identifier(parser, "a list of branch targets", table)) return false;
  const PtxName* name = body.names.find(table);
  if (!name || name->kind != PtxNameKind::branch_targets) {
    return fail(parser, at, "list of branch targets " + quoted_ptx(table) + " is not declared");
  }
  body.indexed_branches.push_back({name->index, static_cast<int>(body.function->body.size()) - 1});
  return true;
}

bool parse_modifiers(PtxParser& parser, PtxInstruction& instruction) {
  PtxLexer& lexer = parser.lexer;
  instruction.modifiers.reserve(4);
  while (lexer.current().kind == PtxTokenKind::dotted) {
    if (instruction.modifiers.size() >= max_ptx_modifiers)
      return fail(parser, "this instruction has too many modifiers");
    instruction.modifiers.emplace_back(lexer.current().text.substr(1));
    lexer.advance();
  }
  return true;
}

}  // namespace

bool parse_instruction(PtxParser& parser, PtxFunctionBody& body) {
  PtxLexer& lexer = parser.lexer;
  if (++parser.instructions > max_ptx_instructions)
    return fail(parser, "the program has more than 1000000 instructions");
  PtxInstruction& instruction = body.function->body.emplace_back();
  instruction.origin.ptx_line = lexer.current().line;
  instruction.origin.line = static_cast<std::uint32_t>(parser.location + 1);
  if (accept(parser, '@') && !parse_guard(parser, body, instruction)) return false;

  const PtxToken opcode = lexer.current();
  if (!opcode.is_identifier()) return fail(parser, "expected an instruction");
  instruction.opcode = opcode.text;
  lexer.advance();
  if (!parse_modifiers(parser, instruction)) return false;

  bool ok = false;
  if (is_texture_opcode(opcode.text)) {
    return fail_unsupported(parser, opcode, "instruction '" + instruction.form() + "' (textures and surfaces)");
  } else if (opcode.text == "bra") {
    ok = parse_branch(parser, body, instruction);
  } else if (opcode.text == "brx") {
    ok = parse_indexed_branch(parser, body, instruction);
  } else if (opcode.text == "call") {
    ok = parse_call(parser, body, instruction);
  } else {
    ok = parse_operands(parser, body, instruction);
  }
  return ok && expect(parser, ';');
}

}  // namespace kw
