// The list of training runs, and the choice of runs to compare.

import {getJson} from '../api.js';
import {el, replace} from '../dom.js';
import {formatDuration, formatNumber, groupDigits, kindWords, visibleText} from '../format.js';
import {ago, emptyState, errorBox, loading, pill} from '../parts.js';

const pollMs = 10000;

export const runAddress = (name) => `#/runs/${encodeURIComponent(name)}`;

function headline(run) {
  return run.headline ? `${formatNumber(run.headline.value)}` : '–';
}

function rowOf(run, chosen, onChoose) {
  const box = el('input', {type: 'checkbox', checked: chosen.has(run.name), 'aria-label': `Compare ${run.name}`});
  box.addEventListener('change', () => {
    if (box.checked)
      chosen.add(run.name);
    else
      chosen.delete(run.name);
    onChoose();
  });
  return el(
      'tr', {}, el('td', {class: 'check'}, box),
      el('td', {class: 'name'}, el('a', {href: runAddress(run.name), text: visibleText(run.name)}),
         el('span', {class: 'detail', text: kindWords(run.kind)})),
      el('td', {'data-label': 'State'}, pill(run.status)),
      el('td',
         {class: 'number', 'data-label': 'Step', text: run.last_step === null ? '–' : groupDigits(run.last_step)}),
      el('td', {class: 'number', 'data-label': 'Result'}, headline(run),
         run.headline ? el('span', {class: 'detail', text: visibleText(run.headline.metric)}) : null),
      el('td', {class: 'number', 'data-label': 'Busy', text: formatDuration(run.busy_s)}),
      el('td', {class: 'number', 'data-label': 'Updated'}, ago(run.updated_s ?? run.started_s)));
}

export function showRuns(place) {
  const stop = new AbortController();
  const chosen = new Set();
  const compare = el('a', {class: 'button', role: 'button', text: 'Compare'});
  const body = el('div', {}, loading());
  let timer = 0;

  function drawCompare() {
    const enough = chosen.size >= 2;
    compare.textContent = enough ? `Compare ${chosen.size} runs` : 'Choose runs to compare';
    compare.setAttribute('aria-disabled', String(!enough));
    if (enough)
      compare.href = `#/compare/${[...chosen].map(encodeURIComponent).join(',')}`;
    else
      compare.removeAttribute('href');
  }

  async function load() {
    try {
      const {runs} = await getJson('v1/runs', stop.signal);
      if (runs.length === 0) {
        replace(body, emptyState('No runs yet', 'kernelwright train starts one; it appears here with its first step.'));
      } else if (!body.contains(document.activeElement) || body.querySelector('table') === null) {
        replace(
            body,
            el('div', {class: 'card scroll'},
               el('table', {class: 'stacking'},
                  el('thead', {},
                     el('tr', {},
                        ['', 'Run', 'State', 'Step', 'Result', 'Busy', 'Updated'].map(
                            (name) => el('th', {scope: 'col', text: name})))),
                  el('tbody', {}, runs.map((run) => rowOf(run, chosen, drawCompare))))));
      }
      timer = setTimeout(load, pollMs);
    } catch (problem) {
      if (problem.name !== 'AbortError') replace(body, errorBox(problem, load));
    }
  }
  drawCompare();
  replace(
      place, el('div', {class: 'row-line title-line'}, el('h1', {text: 'Runs'}), el('span', {class: 'push'}), compare),
      body);
  load();
  return () => {
    stop.abort();
    clearTimeout(timer);
  };
}
