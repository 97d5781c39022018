import assert from 'node:assert/strict';
import {readdirSync, readFileSync} from 'node:fs';
import test from 'node:test';

import {tokenize, tokenizeLines} from '../js/cuda_tokens.js';

const kindsOf = (text) =>
    tokenize(text).filter((token) => token.text.trim() !== '').map((token) => [token.kind, token.text.trim()]);

test('what a kernel consists of', () => {
  assert.deepEqual(kindsOf('__global__ void k(const float* x) {'), [
    ['cuda', '__global__'],
    ['type', 'void'],
    ['call', 'k'],
    ['plain', '('],
    ['keyword', 'const'],
    ['type', 'float'],
    ['plain', '* x) {'],
  ]);
  assert.deepEqual(kindsOf('k<<<1, 32>>>(a);')[0], ['call', 'k']);
  assert.deepEqual(
      kindsOf('v = __shfl_xor_sync(0xffffffffu, v, 1.5e-3f);').map(([kind]) => kind),
      ['plain', 'cuda', 'plain', 'number', 'plain', 'number', 'plain']);
});

test('comments, strings and directives', () => {
  assert.deepEqual(kindsOf('#include <cuda_fp16.h>\nint a; // "no" string'), [
    ['directive', '#include'],
    ['string', '<cuda_fp16.h>'],
    ['type', 'int'],
    ['plain', 'a;'],
    ['comment', '// "no" string'],
  ]);
  assert.deepEqual(kindsOf('"a // b\\"" c'), [['string', '"a // b\\""'], ['plain', 'c']]);
  assert.deepEqual(kindsOf('R"x(a " )" b)x" c'), [['string', 'R"x(a " )" b)x"'], ['plain', 'c']]);
  assert.deepEqual(kindsOf('/* one\ntwo */ int'), [['comment', '/* one\ntwo */'], ['type', 'int']]);
  assert.equal(tokenize('/* never closed').at(0).kind, 'comment');
  assert.equal(tokenize('a # b').some((token) => token.kind === 'directive'), false);
});

test('names of objects are no keywords', () => {
  assert.deepEqual(kindsOf('constructor __proto__ toString'), [['plain', 'constructor __proto__ toString']]);
});

test('a piece over several lines is cut at their ends', () => {
  const lines = tokenizeLines('int a;\n/* b\nc */ d');
  assert.equal(lines.length, 3);
  assert.deepEqual(lines[1], [{kind: 'comment', text: '/* b'}]);
  assert.deepEqual(lines[2][0], {kind: 'comment', text: 'c */'});
});

test('nothing is lost, of kernels and of noise', () => {
  const folder = new URL('../../examples/', import.meta.url);
  const texts = readdirSync(folder)
                    .filter((name) => name.endsWith('.cu'))
                    .map((name) => readFileSync(new URL(name, folder), 'utf8'));
  assert.ok(texts.length > 0);
  let seed = 3;
  const random = (below) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
  const alphabet =
      ['"', '\'', '\\', '/', '*', '#', '\n', 'R"(', ')', '0x', '.', 'e', ' ', 'int', '<', '漢', '😀', '\u0000'];
  for (let round = 0; round < 2000; ++round)
    texts.push(Array.from({length: random(30)}, () => alphabet[random(alphabet.length)]).join(''));
  for (const text of texts) {
    assert.equal(tokenize(text).map((token) => token.text).join(''), text);
    const lines = tokenizeLines(text).map((line) => line.map((token) => token.text).join(''));
    assert.equal(lines.join('\n'), text);
  }
});
