import assert from 'node:assert/strict';
import test from 'node:test';

import {changeCounts, foldSame, lineDiff} from '../js/diff.js';

const textOf = (rows, without) => rows.filter((row) => row.kind !== without).map((row) => row.text).join('\n');

test('a changed line is removed and added', () => {
  assert.deepEqual(lineDiff('a\nb\nc', 'a\nB\nc'), [
    {kind: 'same', text: 'a', before: 1, after: 1},
    {kind: 'removed', text: 'b', before: 2, after: null},
    {kind: 'added', text: 'B', before: null, after: 2},
    {kind: 'same', text: 'c', before: 3, after: 3},
  ]);
});

test('both texts can be read back from any diff, and line numbers are right', () => {
  let seed = 7;
  const random = (below) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
  for (let round = 0; round < 300; ++round) {
    const make = () => Array.from({length: random(12)}, () => 'abc'[random(3)]).join('\n');
    const before = make();
    const after = make();
    const rows = lineDiff(before, after);
    assert.equal(textOf(rows, 'added'), before);
    assert.equal(textOf(rows, 'removed'), after);
    for (const row of rows) {
      if (row.before !== null) assert.equal(before.split('\n')[row.before - 1], row.text);
      if (row.after !== null) assert.equal(after.split('\n')[row.after - 1], row.text);
    }
  }
});

test('it is the shortest one', () => {
  assert.deepEqual(changeCounts(lineDiff('a\nb\nc\nd\ne', 'b\nc\nx\ne\nf')), {added: 2, removed: 2});
  assert.deepEqual(changeCounts(lineDiff('same\ntext', 'same\ntext')), {added: 0, removed: 0});
});

test('texts too large for the table are replaced', () => {
  const many = (word) => Array.from({length: 3000}, (_, index) => `${word} ${index}`).join('\n');
  const rows = lineDiff(`first\n${many('a')}`, `first\n${many('b')}`);
  assert.equal(rows[0].kind, 'same');
  assert.deepEqual(changeCounts(rows), {added: 3000, removed: 3000});
});

test('unchanged lines fold away around changes', () => {
  const before = Array.from({length: 20}, (_, index) => `line ${index}`);
  const after = [...before];
  after[10] = 'new';
  const folded = foldSame(lineDiff(before.join('\n'), after.join('\n')), 2);
  assert.deepEqual(folded.map((row) => row.kind), ['gap', 'same', 'same', 'removed', 'added', 'same', 'same', 'gap']);
  assert.equal(folded[0].count, 8);
  assert.equal(folded.at(-1).count, 7);
});

test('a gap of one line stays a line', () => {
  const folded = foldSame(lineDiff('a\nb\nc\nd\ne', 'A\nb\nc\nd\nE'), 1);
  assert.deepEqual(folded.filter((row) => row.kind === 'same').map((row) => row.text), ['b', 'c', 'd']);
});
