// One training run, live: figures, curves, texts, configuration.

import {getJson, pathOf, readStream} from '../api.js';
import {lineChart} from '../chart.js';
import {plainCode} from '../code_view.js';
import {el, onceAFrame, replace} from '../dom.js';
import {
  asWords,
  bounded,
  formatDate,
  formatDuration,
  formatNumber,
  groupDigits,
  kindWords,
  visibleText
} from '../format.js';
import {errorBox, figure, loading, meter, pill} from '../parts.js';
import {chartsFor, otherMetrics, withPoint} from '../run_charts.js';

const againMs = 5000;
const textsEveryMs = 20000;

export async function seriesOf(name, metrics, signal) {
  if (metrics.length === 0) return {};
  const {series} =
      await getJson(`${pathOf('v1/runs', name)}/metrics?names=${metrics.map(encodeURIComponent).join(',')}`, signal);
  return series ?? {};
}

function figures(run) {
  const planned = run.steps_planned;
  const step = run.last_step ?? 0;
  const rate = run.busy_s > 0 && step > 0 ? (step / run.busy_s) * 60 : null;
  const share = planned > 0 ? step / planned : null;
  return el(
      'div', {class: 'figures'},
      figure(
          groupDigits(step), planned ? `of ${groupDigits(planned)} steps` : 'steps',
          rate === null ? '' : `${formatNumber(rate)} a minute`,
          share === null ? null : meter(share, 1, `${Math.round(share * 100)} % of the steps`)),
      figure(
          run.left_s === null || run.left_s === undefined ? '–' : formatDuration(run.left_s), 'time left',
          run.status === 'running' ? 'at the present rate' : asWords(run.status)),
      figure(formatDuration(run.busy_s), 'busy', `since ${formatDate(run.started_s)}`),
      run.headline ? figure(formatNumber(run.headline.value), visibleText(run.headline.metric), 'last value') : null);
}

function textList(texts) {
  if (texts.length === 0) return null;
  return el(
      'section', {}, el('h2', {class: 'section', text: 'Texts and conversations'}),
      texts.slice(0, 50).map(
          (one) =>
              el('details', {class: 'card text'},
                 el('summary', {}, el('span', {text: visibleText(one.tag)}),
                    el('span', {class: 'soft small push', text: `step ${one.step}`})),
                 plainCode(bounded(one.text, 60000), one.tag))));
}

function facts(title, value) {
  if (value === null || typeof value !== 'object' || Object.keys(value).length === 0) return null;
  return el(
      'details', {class: 'card text'}, el('summary', {text: title}),
      plainCode(bounded(JSON.stringify(value, null, 2), 60000), title));
}

// Charts of metrics that have no place of their own, made when asked for.
function otherCharts(name, metrics, signal) {
  const rest = otherMetrics(metrics);
  if (rest.length === 0) return null;
  const place = el('div', {class: 'cards'});
  const pick =
      el('input', {type: 'search', placeholder: 'actor/grad_norm …', 'aria-label': 'Find a metric', class: 'mono'});
  const list = el('div', {class: 'chips'});
  const draw = () => replace(
      list,
      rest.filter((metric) => metric.includes(pick.value.trim()))
          .slice(0, 60)
          .map((metric) => el('button', {
                 type: 'button',
                 class: 'chip mono',
                 text: metric,
                 on: {
                   click: async (event) => {
                     event.target.disabled = true;
                     const chart = lineChart({title: metric});
                     place.prepend(chart.node);
                     const series = await seriesOf(name, [metric], signal).catch(() => ({}));
                     chart.update([{name: metric, tone: 1, points: series[metric] ?? []}]);
                   },
                 },
               })));
  pick.addEventListener('input', draw);
  draw();
  return el(
      'details', {class: 'card text'}, el('summary', {text: `${rest.length} more metrics`}),
      el('div', {class: 'inside stack-small'}, pick, list, place));
}

export function showRun(place, route) {
  const {name} = route;
  const stop = new AbortController();
  const head = el('div', {});
  const numbers = el('div', {});
  const curves = el('div', {class: 'cards'});
  const texts = el('div', {});
  const foot = el('div', {class: 'stack'});
  const points = new Map();
  let run = null;
  let charts = [];
  let timer = 0;
  let textsLoadedMs = 0;

  function drawHead() {
    replace(
        head, el('p', {class: 'crumb'}, el('a', {href: '#/runs', text: 'Runs'})),
        el('div', {class: 'row-line title-line'}, el('h1', {text: visibleText(name)}), pill(run.status)),
        el('p', {class: 'soft', text: kindWords(run.kind)}));
    replace(numbers, figures(run));
  }

  function drawCurves() {
    for (const {chart, spec} of charts)
      chart.update(spec.lines.map(
          ([label, metric], index) => ({name: label, tone: index + 1, points: points.get(metric) ?? []})));
  }
  const drawSoon = onceAFrame(() => {
    drawHead();
    drawCurves();
  });

  function takeEvent(event) {
    const {data} = event;
    if (event.event === 'metrics' && Number.isInteger(data.step)) {
      run.last_step = data.step;
      for (const [metric, value] of Object.entries(data.values ?? {}))
        points.set(metric, withPoint(points.get(metric) ?? [], data.step, value));
      drawSoon();
    } else if (event.event === 'status') {
      run.status = data.status ?? run.status;
      run.left_s = data.left_s ?? null;
      run.busy_s = data.busy_s ?? run.busy_s;
      drawSoon();
      loadTexts();
    } else if (event.event === 'text') {
      loadTexts();
    }
  }

  async function loadTexts() {
    const now = Date.now();
    if (now - textsLoadedMs < textsEveryMs) return;
    textsLoadedMs = now;
    const answer = await getJson(`${pathOf('v1/runs', name)}/texts`, stop.signal).catch(() => ({texts: []}));
    // A text that is being read stays where it is.
    if (texts.querySelector('details[open]') === null) replace(texts, textList(answer.texts ?? []));
  }

  async function followLive() {
    while (run.status === 'running' && !stop.signal.aborted) {
      const after = run.last_step ?? 0;
      try {
        await readStream(`${pathOf('v1/runs', name)}/events?after=${after}`, {signal: stop.signal, onEvent: takeEvent});
      } catch (problem) {
        if (problem.name === 'AbortError' || problem.status === 404) return;
      }
      await new Promise((resolve) => {
        timer = setTimeout(resolve, againMs);
      });
    }
  }

  async function load() {
    replace(place, loading());
    try {
      run = await getJson(pathOf('v1/runs', name), stop.signal);
      const metrics = run.metrics ?? [];
      charts = chartsFor(metrics).map((spec) => ({spec, chart: lineChart(spec)}));
      const wanted = [...new Set(charts.flatMap(({spec}) => spec.lines.map(([, metric]) => metric)))];
      for (const [metric, list] of Object.entries(await seriesOf(name, wanted, stop.signal))) points.set(metric, list);
      replace(curves, charts.map(({chart}) => chart.node));
      replace(
          foot, otherCharts(name, metrics, stop.signal), facts('Summary', run.summary),
          facts('Configuration', run.configuration), facts('Machine', run.machine));
      replace(
          place, head, numbers, charts.length > 0 ? el('h2', {class: 'section', text: 'Curves'}) : null, curves, texts,
          el('h2', {class: 'section', text: 'More'}), foot);
      drawHead();
      drawCurves();
      loadTexts();
      followLive();
    } catch (problem) {
      if (problem.name !== 'AbortError')
        replace(place, el('p', {class: 'crumb'}, el('a', {href: '#/runs', text: 'Runs'})), errorBox(problem, load));
    }
  }
  load();
  return () => {
    stop.abort();
    clearTimeout(timer);
  };
}
