// How the service does: load, queues, latency, errors, machine.

import {getJson} from '../api.js';
import {lineChart} from '../chart.js';
import {el, replace} from '../dom.js';
import {formatBytes, formatDuration, formatNumber, formatPercent, groupDigits, visibleText} from '../format.js';
import {errorBox, figure, loading, meter, pill} from '../parts.js';

const pollMs = 5000;

const historyCharts = [
  {key: 'requests_per_s', title: 'Requests a second', tone: 1},
  {key: 'kernels_per_s', title: 'Kernels judged a second', tone: 3},
  {key: 'tokens_per_s', title: 'Tokens a second', tone: 4},
  {key: 'cpu_percent', title: 'CPU', tone: 2, yFormat: (value) => `${formatNumber(value)} %`},
  // In GiB, so that the axis has round numbers.
  {key: 'memory_bytes', title: 'Memory', tone: 5, unit: 2 ** 30, yFormat: (value) => formatBytes(value * 2 ** 30)},
];

function ms(value) {
  return typeof value === 'number' ? formatDuration(value / 1000).replace(/^0\.0 s$/, '< 0.1 s') : '–';
}

function numbers(service) {
  const {requests = {}, queue = {}} = service;
  const share = requests.total > 0 ? requests.errors / requests.total : 0;
  const waiting = (queue.kernels ?? 0) + (queue.conversations ?? 0) + (queue.answers ?? 0);
  return el(
      'div', {class: 'figures'},
      figure(groupDigits(requests.in_flight ?? 0), 'requests in flight', `${groupDigits(requests.total ?? 0)} so far`),
      figure(
          groupDigits(waiting), 'waiting',
          `${queue.kernels ?? 0} kernels, ${queue.conversations ?? 0} conversations, ${queue.answers ?? 0} answers`),
      figure(formatNumber(service.kernels_per_s ?? 0), 'kernels a second', `${service.workers ?? '–'} workers`),
      figure(formatNumber(service.tokens_per_s ?? 0), 'tokens a second', visibleText(service.model?.device ?? '')),
      figure(
          formatPercent(share, share > 0 && share < 0.01 ? 2 : 1), 'errors',
          `${groupDigits(requests.errors ?? 0)} of ${groupDigits(requests.total ?? 0)} requests`));
}

function latencyTable(latency) {
  const rows = Object.entries(latency ?? {});
  if (rows.length === 0) return null;
  return el(
      'section', {class: 'card scroll'}, el('h3', {text: 'Latency'}),
      el('table', {},
         el('thead', {},
            el('tr', {}, ['', 'half are under', '99 % are under'].map((name) => el('th', {scope: 'col', text: name})))),
         el('tbody', {},
            rows.map(
                ([name, times]) =>
                    el('tr', {}, el('th', {scope: 'row', text: visibleText(name)}),
                       el('td', {class: 'number', text: ms(times?.p50)}),
                       el('td', {class: 'number', text: ms(times?.p99)}))))));
}

function machine(service) {
  const gpus = service.gpus ?? [];
  return el(
      'section', {class: 'card'}, el('h3', {text: 'Machine'}),
      el('div', {class: 'use'},
         el('p', {}, 'CPU of the service',
            el('span', {class: 'push', text: `${formatNumber(service.cpu_percent ?? 0)} % of a core`}))),
      el('div', {class: 'use'},
         el('p', {}, 'Memory of the service', el('span', {class: 'push', text: formatBytes(service.memory_bytes)}))),
      gpus.length === 0 ?
          el('p', {class: 'soft small', text: 'No GPU: kernels run in the emulator and their times are modelled.'}) :
          null,
      gpus.map(
          (gpu) =>
              el('div', {class: 'use'},
                 el('p', {}, visibleText(gpu.name),
                    el('span', {class: 'push', text: `${formatNumber(gpu.use_percent)} %`})),
                 meter(gpu.use_percent / 100, 3, `use of ${gpu.name}`),
                 el('p', {class: 'soft small'}, 'memory', el('span', {
                      class: 'push',
                      text: `${formatBytes(gpu.memory_used_bytes)} of ${formatBytes(gpu.memory_bytes)}`
                    })),
                 meter(gpu.memory_used_bytes / gpu.memory_bytes, 4, `memory of ${gpu.name}`))));
}

function about(service) {
  const rows = [
    ['Version', service.version], ['Up for', formatDuration(service.uptime_s)],
    ['Model', `${service.model?.name ?? '–'} on ${service.model?.device ?? '–'}`], ['Judge', service.judge],
    ['Workers', service.workers]
  ];
  return el(
      'section', {class: 'card'}, el('h3', {text: 'Service'}),
      el('dl', {class: 'facts'},
         rows.map(([name, text]) => [el('dt', {text: name}), el('dd', {text: visibleText(text ?? '–')})])),
      el('p', {class: 'small'}, el('a', {href: 'metrics', text: 'Metrics for Prometheus'}), ' · ',
         el('a', {href: 'openapi.json', text: 'OpenAPI'})));
}

export function showService(place) {
  const stop = new AbortController();
  const state = el('span', {});
  const figuresPlace = el('div', {});
  const detail = el('div', {class: 'cards'});
  const charts =
      historyCharts.map((spec) => ({
                          ...spec,
                          chart: lineChart({
                            title: spec.title,
                            yFormat: spec.yFormat,
                            least: 0,
                            smoothed: false,
                            xFormat: (minutes) => (minutes > -0.05 ? 'now' : `−${formatNumber(-minutes, 2)} min`)
                          }),
                        }));
  const history = el('div', {class: 'cards'}, charts.map(({chart}) => chart.node));
  const trouble = el('div', {});
  let timer = 0;

  function draw(service) {
    replace(state, service.ready ? pill('running', 'ready') : pill('waiting', 'not ready'));
    replace(figuresPlace, numbers(service));
    replace(detail, latencyTable(service.latency_ms), machine(service), about(service));
    const points = service.history ?? [];
    const last = points.at(-1)?.time_s ?? 0;
    for (const {key, title, tone, chart, unit = 1} of charts)
      chart.update([{
        name: title,
        tone,
        points: points.map(
            (point) => [(point.time_s - last) / 60, typeof point[key] === 'number' ? point[key] / unit : null])
      }]);
  }

  async function load() {
    try {
      draw(await getJson('v1/service', stop.signal));
      replace(trouble);
    } catch (problem) {
      if (problem.name === 'AbortError') return;
      replace(state, pill('wrong', 'no answer'));
      replace(trouble, errorBox(problem));
      if (figuresPlace.children.length === 0) replace(figuresPlace);
    }
    timer = setTimeout(load, pollMs);
  }
  replace(figuresPlace, loading());
  replace(
      place, el('div', {class: 'row-line title-line'}, el('h1', {text: 'Service'}), state), trouble, figuresPlace,
      el('h2', {class: 'section', text: 'The last ten minutes'}), history,
      el('h2', {class: 'section', text: 'Details'}), detail);
  load();
  return () => {
    stop.abort();
    clearTimeout(timer);
  };
}
