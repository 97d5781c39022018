// A conversation while it goes on and after it: the best kernel, the way there, and a card for each turn.

import {ApiError, pathOf, sendJson} from '../api.js';
import {plainCode} from '../code_view.js';
import {endSentence, newConversation, shownSample, turnSentence} from '../conversation.js';
import {announce, el, onceAFrame, replace, svg} from '../dom.js';
import {followConversation} from '../follow.js';
import {asWords, formatCount, formatDuration, formatSpeedup, formatTimeUs, visibleText} from '../format.js';
import {copyButton, downloadButton, errorBox, loading, pill} from '../parts.js';
import {scaleTo} from '../scales.js';
import {summaryLine} from '../verdict_view.js';

import {kernelPanels, turnCard} from './turn_card.js';

// Speedup turn by turn on a logarithmic axis; turns without a right kernel are crosses on the ground.
function trajectory(state) {
  const turns = state.turns.filter((turn) => turn.chosen !== null);
  if (turns.length < 2) return null;
  const speedups = turns.map((turn) => {
    const verdict = shownSample(turn)?.verdict;
    return verdict?.correct ? (verdict.speedup_naive ?? null) : null;
  });
  const known = speedups.filter((one) => one !== null && one > 0);
  if (known.length === 0) return null;
  const low = Math.min(1, ...known);
  const high = Math.max(2, ...known);
  const x = scaleTo(0, turns.length - 1, 14, 226);
  const y = scaleTo(low, high, 52, 16, true);
  const points = speedups.map((one, index) => (one === null ? null : [x(index), y(one), one]));
  const d =
      points.filter((one) => one !== null).map(([px, py], index) => `${index === 0 ? 'M' : 'L'}${px} ${py}`).join('');
  return svg(
      'svg', {
        viewBox: '0 0 240 64',
        class: 'chart way series-3',
        role: 'img',
        'aria-label': `Speedup by turn: ${speedups.map(formatSpeedup).join(', ')}`
      },
      svg('line', {class: 'one', x1: 4, x2: 236, y1: y(1), y2: y(1)}), svg('path', {class: 'line', d}),
      points.map(
          (point, index) =>
              (point === null ? svg('text', {class: 'tick middle', x: x(index), y: 56, text: '✕'}) :
                                svg('circle', {class: 'dot', cx: point[0], cy: point[1], r: 3.5}))));
}

function bestCard(state) {
  const name = state.task?.name ?? 'kernel';
  const {best} = state;
  if (!best) {
    const text = 'No answer was a right kernel. More samples, more turns or another seed may find one.';
    return el('div', {class: 'card hero none'}, el('p', {class: 'soft', text}));
  }
  const gain = state.end?.gain;
  const from = best.turn < 0 ? 'your own kernel' : `turn ${best.turn + 1}`;
  const figureText = typeof best.speedup === 'number' ? formatSpeedup(best.speedup) : formatTimeUs(best.time_us);
  return el(
      'div', {class: 'card hero'},
      el('div', {class: 'hero-figure'}, el('div', {class: 'value', text: figureText}), el('div', {
           class: 'name',
           text: typeof best.speedup === 'number' ? 'as fast as the naive kernel' : 'a correct kernel'
         }),
         el('div', {
           class: 'soft small',
           text: [typeof best.time_us === 'number' ? formatTimeUs(best.time_us) : '', from].filter(Boolean).join(', ')
         }),
         gain && gain.factor > 1.005 ?
             el('div', {class: 'soft small', text: `${formatSpeedup(gain.factor)} the first right one`}) :
             null),
      trajectory(state),
      el('div', {class: 'actions'}, copyButton(() => best.kernel, 'Copy the kernel'),
         downloadButton(() => best.kernel, `${name}.cu`)));
}

function warningOf(state) {
  if (state.notUnderstood.length === 0) return null;
  return el(
      'div', {class: 'card warning'},
      el('p', {class: 'strong', text: 'The agents do not know everything in this task.'}), el('p', {
        text: `Outside their language: ${
            visibleText(state.notUnderstood.join(
                ', '))}. They will seldom write a correct kernel. The judge works for any operation.`
      }));
}

function givenCard(state) {
  if (state.given === null) return null;
  return el(
      'article', {class: 'card turn'},
      el('header', {class: 'turn-head'}, el('span', {class: 'turn-number', text: '0'}), el('h3', {text: 'Your kernel'}),
         state.given.verdict ? pill(state.given.verdict.status) : null),
      summaryLine(state.given.verdict), kernelPanels(state.given.kernel, state.given.verdict, null, 'Your kernel'));
}

// Shows a conversation in `place`: one that `start` ({path, body}) begins, or the one with `id`. onBegin(id) when it is
// known. Returns a function that stops following; the conversation itself goes on.
export function showConversation(
    place, {id = null, start = null, onBegin = () => {}, onEnd = () => {}, onProblem = () => {}}) {
  const state = newConversation();
  state.id = id;
  const stop = new AbortController();
  const head = el('header', {class: 'conversation-head'});
  const hero = el('div', {});
  const notes = el('div', {class: 'stack'});
  const list = el('div', {class: 'stack', role: 'feed', 'aria-label': 'Turns'});
  const foot = el('div', {class: 'stack'});
  const cards = new Map();
  let link = {kind: 'connecting', seconds: 0};
  let givenShown = false;
  let cancelling = false;

  async function cancel() {
    cancelling = true;
    draw();
    try {
      await sendJson('DELETE', pathOf('v1/conversations', state.id));
    } catch (problem) {
      cancelling = false;
      replace(foot, errorBox(problem));
    }
  }

  function progressWords() {
    if (state.end !== null) {
      const cost = [
        formatDuration(state.end.seconds),
        state.end.tokens === null ? '' : formatCount(state.end.tokens, 'token', 'tokens')
      ];
      return `${endSentence(state.end)} ${cost.filter((one) => one !== '' && one !== '–').join(', ')}`;
    }
    if (link.kind === 'waiting')
      return `The connection broke. Connecting again in ${
          Math.ceil(link.seconds)} s; the conversation goes on meanwhile.`;
    if (link.kind === 'connecting') return 'Connecting …';
    const turn = state.turns.at(-1);
    return turn === undefined ? 'Waiting for its turn …' :
                                `Turn ${turn.turn + 1}${state.turnsPlanned ? ` of ${state.turnsPlanned}` : ''}`;
  }

  function drawHead() {
    const status =
        state.end === null ? (link.kind === 'waiting' ? ['waiting', 'offline'] : ['running', 'live']) : endPill(state);
    replace(
        head,
        el('div', {class: 'row-line'}, el('h2', {text: asWords(state.task?.name ?? 'A conversation')}), pill(...status),
           state.end === null && state.id !== null ? el('button', {
             type: 'button',
             class: 'button push',
             disabled: cancelling,
             text: cancelling ? 'Cancelling …' : 'Cancel',
             on: {click: cancel}
           }) :
                                                     null),
        state.task?.summary ? el('p', {class: 'soft', text: visibleText(state.task.summary)}) : null,
        el('p', {class: 'soft small', text: progressWords()}),
        state.task?.pytorch ?
            el('details', {class: 'quiet'}, el('summary', {text: 'PyTorch, model and judge'}),
               plainCode(state.task.pytorch, 'PyTorch'), el('p', {
                 class: 'soft small',
                 text: visibleText([state.model, state.device, state.judge].filter(Boolean).join(' · '))
               })) :
            null);
  }

  function draw() {
    if (head.querySelector('details[open]') === null || state.end !== null) drawHead();
    replace(hero, state.best || state.end !== null ? bestCard(state) : null);
    replace(notes, warningOf(state));
    if (!givenShown && state.given !== null) {
      givenShown = true;
      list.prepend(givenCard(state));
    }
    for (const turn of state.turns) {
      if (!cards.has(turn.turn)) {
        cards.set(turn.turn, turnCard(state, turn));
        list.append(cards.get(turn.turn).node);
      }
      cards.get(turn.turn).update();
    }
  }
  const drawSoon = onceAFrame(draw);

  async function follow() {
    try {
      await followConversation(state, start, {
        signal: stop.signal,
        onChange(event) {
          if (event.event === 'begin') onBegin(state.id);
          if (event.event === 'turn') {
            const turn = state.turns.find((one) => one.turn === event.data?.turn);
            if (turn !== undefined) announce(turnSentence(turn));
          }
          drawSoon();
        },
        onLink(kind, seconds) {
          link = {kind, seconds};
          drawSoon();
        },
      });
      announce(endSentence(state.end));
      onEnd(state);
    } catch (problem) {
      if (problem.name === 'AbortError') return;
      if (state.id === null || (problem instanceof ApiError && state.lastEvent === 0))
        replace(place, errorBox(problem));
      else
        replace(foot, errorBox(problem, () => {
                  replace(foot);
                  follow();
                }));
      onProblem(problem);
    }
  }
  replace(place, head, hero, notes, list, foot);
  if (id !== null)
    replace(head, loading());
  else
    drawHead();
  follow();
  return () => stop.abort();
}

function endPill(state) {
  if (state.end.why === 'cancelled') return ['cancelled', 'cancelled'];
  if (state.end.why === 'error' || state.end.why === 'refused') return ['wrong', 'failed'];
  return state.best ? ['correct', 'done'] : ['stopped', 'no right kernel'];
}
