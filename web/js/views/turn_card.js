// One turn of a conversation: what was asked, every answer, and of the chosen one kernel, changes, findings and times.

import {diffView, kernelView, plainCode, showLine} from '../code_view.js';
import {givenWords, kernelBefore, shownSample} from '../conversation.js';
import {el, replace, replaceIfNew} from '../dom.js';
import {asWords, bounded, formatDuration, formatNumber, formatSpeedup, visibleText} from '../format.js';
import {copyButton, pill, tabs} from '../parts.js';
import {factList, findingList, findingsOf, speedWords, summaryLine, timing} from '../verdict_view.js';

const mostLiveCharacters = 20000;

function titleOf(state, turn) {
  if (turn.role !== 'optimizer') return 'Generator writes a kernel';
  const given = turn.givenTurn === null || turn.givenTurn < 0;
  return `Optimizer improves ${given ? givenWords(state) : `the kernel of turn ${turn.givenTurn + 1}`}`;
}

// `short`: of a right kernel its speedup says more than that it is right.
function statusOf(sample, short = false) {
  if (sample.verdict !== null) {
    const factor = sample.verdict.speedup_naive;
    if (!short || !sample.verdict.correct || typeof factor !== 'number') return pill(sample.verdict.status);
    return pill(factor >= 1 ? 'correct' : 'waiting', formatSpeedup(factor));
  }
  if (sample.outcome === null) return pill('waiting', 'being written');
  return sample.kernel === null ? pill('wrong', asWords(sample.outcome)) : pill('running', 'being judged');
}

// The kernel and what is known of it; `before`: the kernel that it was made from, or null.
export function kernelPanels(kernel, verdict, before, label) {
  const view = kernelView(kernel, {findings: findingsOf(verdict), hotLines: verdict?.hot_lines ?? [], label});
  const panels =
      [{id: 'kernel', label: 'Kernel', make: () => el('div', {class: 'with-copy'}, copyButton(() => kernel), view)}];
  if (before !== null) panels.push({id: 'changes', label: 'Changes', make: () => diffView(before, kernel)});
  const bars = timing(verdict);
  if (bars !== null) panels.push({id: 'time', label: 'Time', make: () => bars});
  if (verdict?.feedback)
    panels.push({
      id: 'feedback',
      label: 'Feedback',
      make: () => plainCode(bounded(verdict.feedback, 20000), 'What the agent is told')
    });
  const shown = tabs(label, panels);
  const findings = findingList(verdict, (line) => {
    shown.select('kernel');
    showLine(view, line);
  });
  return [findings, shown.node];
}

function sampleBody(state, turn, sample) {
  if (sample === null) return null;
  const {verdict} = sample;
  const parts = [];
  parts.push(summaryLine(verdict));
  if (sample.kernel === null && sample.outcome !== null)
    parts.push(el(
        'p', {text: `There is no kernel in this answer: ${visibleText(sample.message || asWords(sample.outcome))}`}));
  if (sample.kernel !== null)
    parts.push(kernelPanels(
        sample.kernel, verdict, kernelBefore(state, turn), `Turn ${turn.turn + 1}, answer ${sample.sample + 1}`));
  const extra = [];
  if (sample.strategies.length > 0) extra.push(['Means', sample.strategies.map(asWords).join(', ')]);
  if (typeof sample.reward === 'number') extra.push(['Reward', formatNumber(sample.reward)]);
  parts.push(factList(verdict, extra));
  return parts;
}

// Makes the card and returns {node, update()}. Parts are made again only when what they show has changed, so that a
// kernel that is being read does not move while others arrive.
export function turnCard(state, turn) {
  const heading = el('h3', {});
  const headline = el('header', {class: 'turn-head'});
  const strip = el('div', {class: 'samples', role: 'group', 'aria-label': `Answers of turn ${turn.turn + 1}`});
  const live = el('pre', {class: 'writing', 'aria-hidden': 'true'});
  const body = el('div', {class: 'turn-body'});
  const node = el('article', {class: 'card turn', id: `turn-${turn.turn + 1}`}, headline, strip, live, body);
  let picked = null;
  let shownKey = '';

  function headPill(sample) {
    if (turn.chosen === null)
      return state.end === null ? pill('running', 'under way') : pill('stopped', 'not finished');
    return sample === null ? null : statusOf(sample);
  }

  function drawHead(sample) {
    heading.textContent = titleOf(state, turn);
    replace(
        headline, el('span', {class: 'turn-number', text: turn.turn + 1}), heading, headPill(sample),
        el('span', {class: 'speed', text: sample === null ? '' : speedWords(sample.verdict, state.baseline?.name ?? 'naive')}),
        turn.seconds === null ? null : el('span', {class: 'soft small push', text: formatDuration(turn.seconds)}));
  }

  function drawStrip(sample) {
    strip.hidden = state.samplesPlanned < 2;
    if (strip.hidden) return;
    const all = Array.from(
        {length: Math.max(state.samplesPlanned, turn.samples.length)},
        (_, index) => turn.samples.find((one) => one.sample === index) ??
            {sample: index, outcome: null, verdict: null, kernel: null});
    const key = JSON.stringify([sample?.sample, turn.chosen, all.map((one) => [one.outcome, one.verdict?.status])]);
    const focused = [...strip.children].indexOf(document.activeElement);
    replaceIfNew(strip, key, () => all.slice(0, 64).map((one) => sampleButton(one, sample)));
    if (focused >= 0) strip.children[focused]?.focus();
  }

  function sampleButton(one, sample) {
    const click = () => {
      picked = one.sample;
      update();
    };
    const pressed = String(one.sample === sample?.sample);
    return el(
        'button',
        {type: 'button', class: 'sample', 'aria-pressed': pressed, disabled: one.outcome === null, on: {click}},
        el('span', {text: `${one.sample + 1}`}), statusOf(one, true),
        one.sample === turn.chosen ? el('span', {class: 'chosen', text: 'chosen'}) : null);
  }

  function update() {
    const sample = turn.samples.find((one) => one.sample === picked) ?? shownSample(turn);
    drawHead(sample);
    drawStrip(sample);
    const writing = turn.liveText !== '' && (sample === null || sample.outcome === null);
    live.hidden = !writing;
    if (writing) live.textContent = visibleText(turn.liveText.slice(-mostLiveCharacters));
    const key = JSON.stringify(
        [sample?.sample, sample?.outcome, sample?.verdict?.fingerprint, sample?.verdict?.status, turn.givenTurn]);
    if (key === shownKey) return;
    shownKey = key;
    replace(body, sampleBody(state, turn, sample));
  }
  update();
  return {node, update};
}
