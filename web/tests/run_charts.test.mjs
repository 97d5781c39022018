import assert from 'node:assert/strict';
import test from 'node:test';

import {chartsFor, comparedCharts, otherMetrics, withPoint} from '../js/run_charts.js';

const rl = ['critic/score/mean', 'judge/pass_rate', 'exam/turns/correct', 'exam/compiled', 'actor/lr'];
const sft = ['sft/loss', 'exam/loss', 'exam/correct', 'exam/compiled'];

test('a run has the charts whose metrics it has', () => {
  assert.deepEqual(chartsFor(rl).map((chart) => chart.title), ['Reward', 'Correct kernels', 'Kernels that compile']);
  assert.deepEqual(chartsFor(rl)[1].lines.map(([name]) => name), ['answers', 'held-out']);
  assert.deepEqual(chartsFor(sft).map((chart) => chart.title), ['Loss', 'Exams']);
  assert.deepEqual(chartsFor([]), []);
});

test('no metric is lost: what no chart shows is listed', () => {
  assert.deepEqual(otherMetrics(rl), ['actor/lr']);
  assert.deepEqual(otherMetrics(sft), []);
});

test('runs are compared by one metric a chart, each once', () => {
  const metrics = comparedCharts([rl, ['critic/score/mean']]).map((chart) => chart.metric);
  assert.deepEqual(metrics, ['critic/score/mean', 'judge/pass_rate', 'exam/compiled']);
  const titles = comparedCharts([rl, ['actor/entropy']]).map((chart) => chart.title);
  assert.deepEqual(titles.slice(0, 1), ['Reward: training']);
  assert.deepEqual(titles.at(-1), 'Entropy of the policy');
});

test('a step that comes again replaces what followed it', () => {
  const points = [[1, 5], [2, 6], [3, 7]];
  assert.deepEqual(withPoint(points, 4, 8), [[1, 5], [2, 6], [3, 7], [4, 8]]);
  assert.deepEqual(withPoint(points, 2, 9), [[1, 5], [2, 9]]);
  assert.deepEqual(points.length, 3);
});
