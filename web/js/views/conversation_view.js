// A conversation while it goes on and after it: the best kernel, the way there, and a card for each turn.

import {pathOf, sendJson} from '../api.js';
import {plainCode} from '../code_view.js';
import {
  baselineWords,
  endSentence,
  givenWords,
  newConversation,
  shownSample,
  turnSentence
} from '../conversation.js';
import {announce, el, onceAFrame, replace, replaceIfNew, svg} from '../dom.js';
import {followConversation} from '../follow.js';
import {asWords, formatCount, formatDuration, formatSpeedup, formatTimeUs, visibleText} from '../format.js';
import {copyButton, downloadButton, errorBox, pill} from '../parts.js';
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
  const from = best.turn < 0 ? givenWords(state) : `turn ${best.turn + 1}, by the agents`;
  const figureText = typeof best.speedup === 'number' ? formatSpeedup(best.speedup) : formatTimeUs(best.time_us);
  return el(
      'div', {class: 'card hero'},
      el('div', {class: 'hero-figure'}, el('div', {class: 'value', text: figureText}), el('div', {
           class: 'name',
           text: typeof best.speedup === 'number' ? `as fast as ${baselineWords(state)}` : 'a correct kernel'
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

const asTitle = (words) => words.charAt(0).toUpperCase() + words.slice(1);

// What the library's kernel is to the conversation, or why there is none.
function baselineLine(state) {
  const message = state.baseline?.message ?? '';
  return message === '' ? null : el('p', {class: 'soft', text: visibleText(message)});
}

function givenCard(state) {
  if (state.given === null) return null;
  const name = asTitle(givenWords(state));
  return el(
      'article', {class: 'card turn'},
      el('header', {class: 'turn-head'}, el('span', {class: 'turn-number', text: '0'}), el('h3', {text: name}),
         state.given.verdict ? pill(state.given.verdict.status) : null),
      summaryLine(state.given.verdict), kernelPanels(state.given.kernel, state.given.verdict, null, name));
}

function progressWords(state, link) {
  if (state.end !== null) {
    const tokens = state.end.tokens === null ? '' : formatCount(state.end.tokens, 'token', 'tokens');
    const cost = [formatDuration(state.end.seconds), tokens].filter((one) => one !== '' && one !== '–');
    return `${endSentence(state.end)} ${cost.join(', ')}`;
  }
  if (link.kind === 'waiting')
    return `The connection broke. Connecting again in ${
        Math.ceil(link.seconds)} s; the conversation goes on meanwhile.`;
  if (link.kind === 'connecting') return 'Connecting …';
  const turn = state.turns.at(-1);
  if (turn === undefined) return 'Waiting for its turn …';
  return `Turn ${turn.turn + 1}${state.turnsPlanned ? ` of ${state.turnsPlanned}` : ''}`;
}

function taskDetails(state) {
  if (!state.task?.pytorch) return null;
  const about = visibleText([state.model, state.device, state.judge].filter(Boolean).join(' · '));
  const summary = el('summary', {text: 'PyTorch, model and judge'});
  return el(
      'details', {class: 'quiet'}, summary, plainCode(state.task.pytorch, 'PyTorch'),
      el('p', {class: 'soft small', text: about}));
}

// The lines above a conversation. Returns {node, update(link)}; the button stays the same one while everything changes.
function conversationHead(state, onProblem) {
  const title = el('h2', {});
  const status = el('span', {});
  const cancel = el('button', {type: 'button', class: 'button push', text: 'Cancel'});
  const summary = el('p', {class: 'soft'});
  const progress = el('p', {class: 'soft small'});
  const details = el('div', {});
  cancel.addEventListener('click', async () => {
    cancel.disabled = true;
    cancel.textContent = 'Cancelling …';
    try {
      await sendJson('DELETE', pathOf('v1/conversations', state.id));
    } catch (problem) {
      cancel.disabled = false;
      cancel.textContent = 'Cancel';
      onProblem(problem);
    }
  });
  const node =
      el('header', {class: 'conversation-head'}, el('div', {class: 'row-line'}, title, status, cancel), summary,
         progress, details);
  return {
    node,
    update(link) {
      const live = link.kind === 'waiting' ? ['waiting', 'offline'] : ['running', 'live'];
      const words = state.end === null ? live : endPill(state);
      title.textContent = asWords(state.task?.name ?? 'A conversation');
      replaceIfNew(status, words.join(), () => pill(...words));
      cancel.hidden = state.end !== null || state.id === null;
      summary.textContent = visibleText(state.task?.summary);
      summary.hidden = !state.task?.summary;
      progress.textContent = progressWords(state, link);
      replaceIfNew(details, state.task === null ? '' : 'known', () => taskDetails(state));
    },
  };
}

// Shows a conversation in `place`: one that `start` ({path, body}) begins, or the one with `id`. onBegin(id) when it is
// known. Returns a function that stops following; the conversation itself goes on.
export function showConversation(place, {id = null, start = null, onBegin = () => {}}) {
  const state = newConversation();
  state.id = id;
  const stop = new AbortController();
  const foot = el('div', {class: 'stack'});
  const head = conversationHead(state, (problem) => replace(foot, errorBox(problem)));
  const hero = el('div', {});
  const notes = el('div', {class: 'stack'});
  const given = el('div', {class: 'stack'});
  const list = el('div', {class: 'stack', role: 'feed', 'aria-label': 'Turns'});
  const cards = new Map();
  let link = {kind: 'connecting', seconds: 0};

  function draw() {
    head.update(link);
    const done = state.turns.filter((turn) => turn.chosen !== null).length;
    const heroKey = JSON.stringify([done, state.best?.turn ?? null, state.end !== null]);
    replaceIfNew(hero, heroKey, () => (state.best || state.end !== null ? bestCard(state) : null));
    const notesKey = JSON.stringify([state.notUnderstood, state.baseline?.message ?? '']);
    replaceIfNew(notes, notesKey, () => [warningOf(state), baselineLine(state)].filter((one) => one !== null));
    replaceIfNew(given, state.given === null ? '' : 'there', () => givenCard(state));
    for (const turn of state.turns) {
      if (!cards.has(turn.turn)) {
        cards.set(turn.turn, turnCard(state, turn));
        list.append(cards.get(turn.turn).node);
      }
      cards.get(turn.turn).update();
    }
  }
  const drawSoon = onceAFrame(draw);

  function onChange(event) {
    if (event.event === 'begin') onBegin(state.id);
    const turn = event.event === 'turn' ? state.turns.find((one) => one.turn === event.data?.turn) : undefined;
    if (turn !== undefined) announce(turnSentence(turn, baselineWords(state)));
    drawSoon();
  }

  function onLink(kind, seconds) {
    link = {kind, seconds};
    drawSoon();
  }

  async function follow() {
    try {
      // What has begun is never asked for a second time.
      await followConversation(state, state.id === null ? start : null, {signal: stop.signal, onChange, onLink});
      announce(endSentence(state.end));
    } catch (problem) {
      if (problem.name === 'AbortError') return;
      const again = () => {
        replace(foot);
        follow();
      };
      if (state.lastEvent === 0)
        replace(place, errorBox(problem));
      else
        replace(foot, errorBox(problem, again));
    }
  }
  replace(place, head.node, hero, notes, given, list, foot);
  draw();
  follow();
  return () => stop.abort();
}

function endPill(state) {
  if (state.end.why === 'cancelled') return ['cancelled', 'cancelled'];
  if (state.end.why === 'error' || state.end.why === 'refused') return ['wrong', 'failed'];
  return state.best ? ['correct', 'done'] : ['stopped', 'no right kernel'];
}
