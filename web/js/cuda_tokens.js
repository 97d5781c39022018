// Cuts CUDA C++ into pieces with a colour each. It reads any text in one pass, never fails, and loses nothing: the
// pieces put together again are the text. It colours; it does not parse.

const words = new Map();
const addWords = (kind, list) => list.split(' ').forEach((word) => words.set(word, kind));
addWords(
    'keyword',
    'alignas alignof asm auto break case catch class const constexpr continue decltype default delete ' +
        'do else enum explicit extern false for friend goto if inline namespace new noexcept nullptr ' +
        'operator private protected public register return sizeof static static_assert static_cast ' +
        'reinterpret_cast const_cast struct switch template this throw true try typedef typename union ' +
        'using virtual volatile while');
addWords(
    'type',
    'bool char double float int long short signed unsigned void size_t ptrdiff_t int8_t int16_t ' +
        'int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t half half2 __half __half2 ' +
        '__nv_bfloat16 __nv_bfloat162 float2 float3 float4 double2 int2 int3 int4 uint2 uint3 uint4 ' +
        'uchar4 char4 short2 short4 dim3 cudaStream_t cudaError_t');
addWords(
    'cuda',
    '__global__ __device__ __host__ __shared__ __constant__ __managed__ __restrict__ __forceinline__ ' +
        '__noinline__ __launch_bounds__ __align__ threadIdx blockIdx blockDim gridDim warpSize ' +
        '__syncthreads __syncwarp __threadfence __threadfence_block');

const patterns = [
  ['comment', /\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)/y],
  ['string', /"(?:[^"\\\n]|\\[^])*(?:"|(?=\n)|$)|'(?:[^'\\\n]|\\[^])*(?:'|(?=\n)|$)/y],
  ['number', /(?:0[xX][0-9a-fA-F']+|0[bB][01']+|(?:\d[\d']*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[uUlLfFhH]*/y],
  ['word', /[A-Za-z_]\w*/y],
  ['plain', /[ \t\r\v\f]+|\n/y],
];
const rawString = /(?:u8|[uUL])?R"([^()\\\s]{0,16})\(/y;
const directive = /#[ \t]*\w*/y;
const includeName = /[ \t]*(<[^>\n]*>)/y;

function matchAt(pattern, text, at) {
  pattern.lastIndex = at;
  const found = pattern.exec(text);
  return found !== null && found[0].length > 0 ? found : null;
}

function kindOfWord(word, text, end) {
  const known = words.get(word);
  if (known !== undefined) return known;
  if (/^__\w*_(?:sync|rn|rd|ru|rz|ieee)$|^__(?:shfl|ballot|any|all|ldg|expf|logf|fdividef|float2|half2|popc|clz|ffs)/
          .test(word))
    return 'cuda';
  return text[end] === '(' || (text[end] === '<' && text[end + 1] === '<') ? 'call' : 'plain';
}

// The pieces in order: {kind, text}. Kinds: plain, comment, string, number, keyword, type, cuda, call, directive.
export function tokenize(text) {
  const tokens = [];
  const push = (kind, piece) => {
    const last = tokens.at(-1);
    if (kind === 'plain' && last?.kind === 'plain')
      last.text += piece;
    else
      tokens.push({kind, text: piece});
  };
  let at = 0;
  let lineBegins = true;
  while (at < text.length) {
    const directiveHere = lineBegins ? matchAt(directive, text, at) : null;
    if (directiveHere !== null) {
      push('directive', directiveHere[0]);
      at += directiveHere[0].length;
      const name = /include$/.test(directiveHere[0]) ? matchAt(includeName, text, at) : null;
      if (name !== null) {
        push('string', name[0]);
        at += name[0].length;
      }
      lineBegins = false;
      continue;
    }
    const raw = matchAt(rawString, text, at);
    if (raw !== null) {
      const close = text.indexOf(`)${raw[1]}"`, at + raw[0].length);
      const end = close < 0 ? text.length : close + raw[1].length + 2;
      push('string', text.slice(at, end));
      at = end;
      lineBegins = false;
      continue;
    }
    const {kind, piece} = pieceAt(text, at);
    push(kind === 'word' ? kindOfWord(piece, text, at + piece.length) : kind, piece);
    at += piece.length;
    if (piece === '\n')
      lineBegins = true;
    else if (!/^[ \t\r\v\f]+$/.test(piece) && kind !== 'comment')
      lineBegins = false;
  }
  return tokens;
}

function pieceAt(text, at) {
  for (const [kind, pattern] of patterns) {
    const found = matchAt(pattern, text, at);
    if (found !== null) return {kind, piece: found[0]};
  }
  return {kind: 'plain', piece: String.fromCodePoint(text.codePointAt(at))};
}

// The same by lines: an array of arrays. A piece that spans lines is cut at their ends.
export function tokenizeLines(text) {
  const lines = [[]];
  for (const token of tokenize(text)) {
    token.text.split('\n').forEach((part, index) => {
      if (index > 0) lines.push([]);
      if (part !== '') lines.at(-1).push({kind: token.kind, text: part});
    });
  }
  return lines;
}
