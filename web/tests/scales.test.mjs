import assert from 'node:assert/strict';
import test from 'node:test';

import {extentOf, logTicks, niceTicks, paddedRange, scaleTo, smooth, thinned} from '../js/scales.js';

test('ticks are round and lie inside', () => {
  assert.deepEqual(niceTicks(0, 1), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(niceTicks(0.57, 0.86, 4), [0.6, 0.7, 0.8]);
  assert.deepEqual(niceTicks(3, 3), [3]);
  assert.deepEqual(logTicks(1, 64, 7), [1, 2, 4, 8, 16, 32, 64]);
  assert.deepEqual(logTicks(0.001, 1000, 4), [0.01, 1, 100]);
});

test('ranges ignore what is not finite and never have height zero', () => {
  assert.deepEqual(extentOf([null, 2, Number.NaN, -1, Infinity]), [-1, 2]);
  assert.equal(extentOf([null]), null);
  const [low, high] = paddedRange(5, 5, false);
  assert.ok(low < 5 && high > 5);
  assert.deepEqual(paddedRange(0.5, 0.99, true), [0.45, 1]);
});

test('scales', () => {
  assert.equal(scaleTo(0, 10, 100, 200)(5), 150);
  assert.ok(Math.abs(scaleTo(1, 100, 0, 2, true)(10) - 1) < 1e-12);
});

test('a fit through a straight line is the line', () => {
  const points = Array.from({length: 40}, (_, x) => [x, 3 + 2 * x]);
  for (const [x, y] of smooth(points)) assert.ok(Math.abs(y - (3 + 2 * x)) < 1e-8);
  assert.equal(smooth([[1, 1], [2, null], [3, 5]]).length, 2);
});

test('thinning keeps both ends', () => {
  const points = Array.from({length: 1000}, (_, x) => [x, x]);
  const few = thinned(points, 100);
  assert.equal(few.length, 100);
  assert.deepEqual([few[0], few.at(-1)], [points[0], points[999]]);
});
