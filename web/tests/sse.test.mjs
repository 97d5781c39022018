import assert from 'node:assert/strict';
import test from 'node:test';

import {SseParser} from '../js/sse.js';

const stream = '\ufeff: keep-alive\n\nid: 1\nevent: begin\ndata: {"a":1}\n\n' +
    'id: 2\r\nevent: text\r\ndata: one\r\ndata:two\r\n\r\ndata: no name\r\rid\nevent: empty\n\n' +
    'id: 3\ndata\n\nid: 4\ndata: unfinished';
const expected = [
  {id: '1', event: 'begin', data: '{"a":1}'},
  {id: '2', event: 'text', data: 'one\ntwo'},
  {id: null, event: 'message', data: 'no name'},
  {id: '3', event: 'message', data: ''},
];

test('a stream in one piece', () => {
  assert.deepEqual(new SseParser().push(stream), expected);
});

test('the same however it is cut', () => {
  for (let cut = 1; cut < stream.length; ++cut) {
    const parser = new SseParser();
    assert.deepEqual(
        [...parser.push(stream.slice(0, cut)), ...parser.push(stream.slice(cut))], expected, `cut at ${cut}`);
  }
  const parser = new SseParser();
  assert.deepEqual([...stream].flatMap((character) => parser.push(character)), expected);
});

test('an id with NUL is ignored, and no id is null', () => {
  assert.deepEqual(new SseParser().push('id: a\0b\ndata: x\n\n'), [{id: null, event: 'message', data: 'x'}]);
});

test('an event without end is refused', () => {
  const parser = new SseParser();
  assert.throws(() => {
    for (let i = 0; i < 20; ++i) parser.push('x'.repeat(1 << 20));
  }, /no end/);
});
