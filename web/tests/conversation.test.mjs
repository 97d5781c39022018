import assert from 'node:assert/strict';
import test from 'node:test';

import {
  applyEvent,
  baselineWords,
  endSentence,
  forgetLiveText,
  givenWords,
  kernelBefore,
  newConversation,
  shownSample,
  turnSentence
} from '../js/conversation.js';

const best = {
  turn: 1,
  kernel: 'k2',
  speedup: 8,
  time_us: 2
};
const verdict = (speedup) => ({status: 'correct', correct: true, speedup_naive: speedup});
const events = [
  ['begin', {id: 'c1', task: {name: 'softmax'}, turns: 2, samples: 2, not_understood: []}],
  ['question', {turn: 0, role: 'generator', given_turn: -1}],
  ['text', {turn: 0, sample: 0, text: '__glo'}],
  ['text', {turn: 0, sample: 0, text: 'bal__'}],
  ['answer', {turn: 0, sample: 1, outcome: 'kernel', kernel: 'k1', strategies: ['tiling']}],
  ['answer', {turn: 0, sample: 0, outcome: 'no_code', message: 'only words', kernel: ''}],
  ['verdict', {turn: 0, sample: 1, verdict: verdict(4), reward: 0.5}],
  ['turn', {turn: 0, chosen: 1, best: {...best, turn: 0}, seconds: 2}],
  ['question', {turn: 1, role: 'optimizer', given_turn: 0}],
  ['answer', {turn: 1, sample: 0, outcome: 'kernel', kernel: 'k2', strategies: []}],
  ['verdict', {turn: 1, sample: 0, verdict: verdict(8), reward: 0.8}],
  ['turn', {turn: 1, chosen: 0, best, seconds: 1}],
  ['end', {end: 'turns', problem: '', best, gain: {from: 0, factor: 2}, seconds: 3, tokens: 100}],
].map(([event, data], index) => ({id: String(index + 1), event, data}));

const after = (list) => {
  const state = newConversation();
  for (const event of list) applyEvent(state, event);
  return state;
};

test('events add up to a conversation', () => {
  const state = after(events);
  assert.equal(state.id, 'c1');
  assert.equal(state.lastEvent, 13);
  assert.deepEqual(state.turns.map((turn) => turn.samples.map((sample) => sample.kernel)), [[null, 'k1'], ['k2']]);
  assert.equal(shownSample(state.turns[0]).sample, 1);
  assert.equal(kernelBefore(state, state.turns[1]), 'k1');
  assert.equal(state.best.speedup, 8);
  assert.equal(turnSentence(state.turns[1]), 'Turn 2: correct, 8.00 times as fast as the naive kernel.');
  assert.equal(endSentence(state.end), 'All turns were taken.');
});

test('events that come again after a break count once', () => {
  const again = after([...events.slice(0, 4), ...events.slice(1, 7), ...events]);
  assert.deepEqual(again, after(events));
  assert.equal(after([...events.slice(0, 4), ...events.slice(0, 4)]).turns[0].liveText, '__global__');
});

test('tokens pass without a number', () => {
  const tokens = events.slice(2, 4).map((event) => ({...event, id: null}));
  const state = after([events[0], events[1], ...tokens]);
  assert.equal(state.turns[0].liveText, '__global__');
  assert.equal(state.lastEvent, 2);
  forgetLiveText(state);
  assert.equal(state.turns[0].liveText, '');
});

test('a turn that is asked again begins anew', () => {
  const again = {id: '20', event: 'question', data: {turn: 0, role: 'generator', given_turn: -1}};
  const state = after([...events.slice(0, 7), again]);
  assert.equal(state.turns.length, 1);
  assert.deepEqual(state.turns[0].samples, []);
});

test('while a turn goes on the fastest right sample is shown', () => {
  const state = after(events.slice(0, 7));
  assert.equal(state.turns[0].chosen, null);
  assert.equal(shownSample(state.turns[0]).kernel, 'k1');
});

test('strange events change nothing', () => {
  const state = after(events);
  const before = structuredClone(state);
  const strange = [
    ['text', {turn: -1, sample: 0}], ['verdict', {turn: 1e9, sample: 0}], ['answer', {turn: 0, sample: 'x'}],
    ['constructor', {}], ['turn', null], ['__proto__', {turn: 0}]
  ];
  strange.forEach(([event, data]) => applyEvent(state, {id: null, event, data}));
  assert.deepEqual(state, before);
});

test('a conversation says who wrote its baseline and its first kernel', () => {
  const state = after([
    {id: '1', event: 'baseline', data: {name: 'library', writer: 'library', message: 'Speedups are stated against it.'}},
    {id: '2', event: 'given', data: {kernel: 'plain', writer: 'library', verdict: null}},
  ]);
  assert.equal(baselineWords(state), 'the library’s kernel');
  assert.equal(givenWords(state), 'the library’s kernel');
  assert.equal(baselineWords(after([])), 'the naive kernel');
  assert.equal(givenWords(after([{id: '1', event: 'given', data: {kernel: 'mine', verdict: null}}])), 'your kernel');
});

test('the user\'s own kernel is turn -1', () => {
  const state = after([
    {id: '1', event: 'given', data: {kernel: 'mine', verdict: null}},
    {id: '2', event: 'question', data: {turn: 0, role: 'optimizer', given_turn: -1}}
  ]);
  assert.equal(kernelBefore(state, state.turns[0]), 'mine');
});
