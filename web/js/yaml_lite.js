// Reads the part of YAML that task files are written in: nested maps, lists, {flow: maps}, [flow, lists], quoted and
// plain scalars, and literal blocks. It is for the form beside the text only: the service reads the text itself, with a
// whole YAML reader. What this one does not know is an error with its line, and the form then leaves the text alone.

export class YamlProblem extends Error {
  constructor(line, message) {
    super(`line ${line}: ${message}`);
    this.line = line;
  }
}

const deepest = 20;

export function parseYaml(text) {
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  const reader = new Reader(lines);
  reader.skipEmpty();
  if (reader.ended()) return new Map();
  const value = reader.block(reader.indent(), 0);
  reader.skipEmpty();
  if (!reader.ended()) throw new YamlProblem(reader.at + 1, 'this line is indented less than what it belongs to');
  return value;
}

class Reader {
  constructor(lines) {
    this.lines = lines;
    this.at = 0;
  }
  ended() {
    return this.at >= this.lines.length;
  }
  indent() {
    return /^ */.exec(this.lines[this.at])[0].length;
  }
  fail(message) {
    throw new YamlProblem(this.at + 1, message);
  }

  skipEmpty() {
    while (!this.ended() && /^\s*(#.*)?$|^---\s*$/.test(this.lines[this.at])) ++this.at;
  }

  block(indent, depth) {
    if (depth > deepest) this.fail('nested too deeply');
    if (/^\t/.test(this.lines[this.at].slice(indent))) this.fail('indent with spaces, not with tabs');
    return /^ *-( |$)/.test(this.lines[this.at]) ? this.list(indent, depth) : this.map(indent, depth);
  }

  map(indent, depth) {
    const map = new Map();
    for (this.skipEmpty(); !this.ended() && this.indent() === indent; this.skipEmpty()) {
      const found =
          /^ *(?:"([^"\\]*)"|'([^']*)'|([^\s"'#{}[\],:&*!|>%@`-][^:#]*?)) *:(?: +(.*))?$/.exec(this.lines[this.at]);
      if (found === null) this.fail('expected a key, a colon and a value');
      const key = found[1] ?? found[2] ?? found[3];
      if (map.has(key)) this.fail(`the key ${key} is there twice`);
      map.set(key, this.value(withoutComment(found[4] ?? ''), indent, depth));
    }
    if (!this.ended() && this.indent() > indent) this.fail('this line is indented more than the one before');
    return map;
  }

  list(indent, depth) {
    const list = [];
    for (this.skipEmpty(); !this.ended() && this.indent() === indent; this.skipEmpty()) {
      const found = /^ *-(?: +(.*))?$/.exec(this.lines[this.at]);
      if (found === null) break;
      const rest = withoutComment(found[1] ?? '');
      if (/^[^\s"'{[][^:]*:( |$)/.test(rest)) {
        // "- key: value" begins a map that goes on two columns further in.
        this.lines[this.at] = ' '.repeat(indent + 2) + rest;
        list.push(this.map(indent + 2, depth + 1));
      } else {
        list.push(this.value(rest, indent, depth));
      }
    }
    return list;
  }

  // The value after a key or a dash, whose line this is; afterwards the reader stands behind it.
  value(rest, indent, depth) {
    const literal = /^([|>])(\d)?([+-])?$/.exec(rest);
    if (literal !== null) return this.literal(indent, literal);
    if (rest === '') {
      ++this.at;
      this.skipEmpty();
      if (this.ended()) return null;
      const inner = this.indent();
      const listHere = inner === indent && /^ *-( |$)/.test(this.lines[this.at]);
      return inner > indent || listHere ? this.block(inner, depth + 1) : null;
    }
    if (/^[&*!%@`]/.test(rest)) this.fail('anchors and tags are not used in tasks');
    if (/^[{[]/.test(rest)) return this.flow(rest, depth);
    ++this.at;
    return scalarOf(rest);
  }

  flow(first, depth) {
    const start = this.at;
    let text = first;
    while (!balanced(text)) {
      if (++this.at >= this.lines.length) throw new YamlProblem(start + 1, 'a bracket is not closed');
      text += ` ${withoutComment(this.lines[this.at].trim())}`;
    }
    ++this.at;
    const flow = new Flow(text, start + 1);
    const value = flow.value(depth);
    flow.skipSpace();
    if (flow.at < text.length) throw new YamlProblem(start + 1, 'something follows the closing bracket');
    return value;
  }

  literal(indent, [, style, given, chomp]) {
    if (style === '>') this.fail('write the text after a |');
    ++this.at;
    const from = this.at;
    let inner = given ? indent + Number(given) : 0;
    const kept = [];
    for (; !this.ended(); ++this.at) {
      const line = this.lines[this.at];
      const blank = /^ *$/.test(line);
      if (!blank && inner === 0) inner = this.indent();
      if (!blank && (this.indent() < inner || inner <= indent)) break;
      kept.push(blank ? line.slice(inner || line.length) : line.slice(inner));
    }
    let last = kept.length;
    while (last > 0 && kept[last - 1] === '') --last;
    this.at = from + kept.length;
    return kept.slice(0, last).join('\n') + (chomp === '-' || last === 0 ? '' : '\n');
  }
}

class Flow {
  constructor(text, line) {
    this.text = text;
    this.line = line;
    this.at = 0;
  }
  fail(message) {
    throw new YamlProblem(this.line, message);
  }
  skipSpace() {
    while (this.text[this.at] === ' ') ++this.at;
  }

  value(depth) {
    if (depth > deepest) this.fail('nested too deeply');
    this.skipSpace();
    if (this.text[this.at] === '[') return this.members(']', depth, []);
    if (this.text[this.at] === '{') return this.members('}', depth, new Map());
    return scalarOf(this.word(false));
  }

  members(close, depth, into) {
    ++this.at;
    for (;;) {
      this.skipSpace();
      if (this.text[this.at] === close) {
        ++this.at;
        return into;
      }
      if (this.at >= this.text.length) this.fail('a bracket is not closed');
      if (close === ']') {
        into.push(this.value(depth + 1));
      } else {
        const key = String(scalarOf(this.word(true)));
        this.skipSpace();
        if (this.text[this.at] !== ':') this.fail('expected a colon after a key');
        ++this.at;
        into.set(key, this.value(depth + 1));
      }
      this.skipSpace();
      if (this.text[this.at] === ',')
        ++this.at;
      else if (this.text[this.at] !== close)
        this.fail('expected a comma or the closing bracket');
    }
  }

  word(isKey) {
    const pattern = isKey ? /"(?:[^"\\]|\\.)*"|'[^']*'|[^,{}[\]:]+/y : /"(?:[^"\\]|\\.)*"|'[^']*'|[^,{}[\]]+/y;
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) this.fail('expected a value');
    this.at += found[0].length;
    return found[0].trim();
  }
}

function balanced(text) {
  let depth = 0;
  let quote = '';
  for (const character of text) {
    if (quote !== '')
      quote = character === quote ? '' : quote;
    else if (character === '"' || character === '\'')
      quote = character;
    else if (character === '[' || character === '{')
      ++depth;
    else if (character === ']' || character === '}')
      --depth;
  }
  return depth <= 0;
}

function withoutComment(text) {
  let quote = '';
  for (let at = 0; at < text.length; ++at) {
    if (quote !== '')
      quote = text[at] === quote ? '' : quote;
    else if (text[at] === '"' || text[at] === '\'')
      quote = text[at];
    else if (text[at] === '#' && (at === 0 || text[at - 1] === ' '))
      return text.slice(0, at).trim();
  }
  return text.trim();
}

function scalarOf(text) {
  if (/^"[^]*"$/.test(text)) return text.slice(1, -1).replace(/\\(["\\])/g, '$1');
  if (/^'[^]*'$/.test(text)) return text.slice(1, -1).replace(/''/g, '\'');
  if (/^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text)) return Number(text);
  if (text === 'true' || text === 'false') return text === 'true';
  if (text === 'null' || text === '~' || text === '') return null;
  return text;
}
