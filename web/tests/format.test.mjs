import assert from 'node:assert/strict';
import test from 'node:test';

import * as format from '../js/format.js';

test('times choose their unit', () => {
  assert.equal(format.formatTimeUs(14.857), '14.86 µs');
  assert.equal(format.formatTimeUs(361.51), '361.5 µs');
  assert.equal(format.formatTimeUs(2864.13), '2.86 ms');
  assert.equal(format.formatTimeUs(3.2e6), '3.2 s');
  assert.equal(format.formatTimeUs(null), '–');
});

test('numbers keep three digits and group large ones', () => {
  assert.equal(format.formatNumber(0.012345), '0.0123');
  assert.equal(format.formatNumber(0.5), '0.5');
  assert.equal(format.formatNumber(100), '100');
  assert.equal(format.formatNumber(0), '0');
  assert.equal(format.formatNumber(1234.4), '1234');
  assert.equal(format.formatNumber(-1234567), '−1\u202f234\u202f567');
  assert.equal(format.formatNumber(3e-7), '3.00e-7');
  assert.equal(format.formatNumber(Number.NaN), '–');
});

test('speedups and shares', () => {
  assert.equal(format.formatSpeedup(1.234), '1.23×');
  assert.equal(format.formatSpeedup(68.46), '68.5×');
  assert.equal(format.formatSpeedup(1234.5), '1235×');
  assert.equal(format.formatPercent(0.925), '92.5 %');
  assert.equal(format.formatChange(-0.02), '−2.0 %');
  assert.equal(format.formatChange(0.1), '+10.0 %');
});

test('bytes, durations and ages', () => {
  assert.equal(format.formatBytes(512), '512 bytes');
  assert.equal(format.formatBytes(3.5 * 2 ** 30), '3.5 GiB');
  assert.equal(format.formatDuration(4.26), '4.3 s');
  assert.equal(format.formatDuration(502), '8 min 22 s');
  assert.equal(format.formatDuration(90061), '1 d 1 h');
  assert.equal(format.formatDuration(-1), '–');
  assert.equal(format.formatAgo(1000, 1180), '3 min ago');
  assert.equal(format.formatDate(0), '1970-01-01 00:00 UTC');
  assert.equal(format.formatDate(1e300), '–');
});

test('sizes keep their order', () => {
  assert.equal(format.formatSizes({rows: 4096, cols: 1024}), 'rows 4096 · cols 1024');
  assert.equal(format.formatSizes({}), 'the only size');
});

test('characters that cannot be seen are shown by their number', () => {
  assert.equal(format.visibleText('a\u202eb\u200bc\u0007'), 'a⟨U+202E⟩b⟨U+200B⟩c⟨U+0007⟩');
  assert.equal(format.visibleText('a\r\n\tb é 漢'), 'a\n\tb é 漢');
  assert.equal(format.visibleText('\u{e0041}'), '⟨U+E0041⟩');
  assert.equal(format.visibleText(null), '');
});

test('long text is cut and says so', () => {
  assert.equal(format.bounded('abcdef', 6), 'abcdef');
  assert.equal(format.bounded('abcdef', 2), 'ab\n… 4 more characters');
});
