// Curves of several runs over each other.

import {getJson, pathOf} from '../api.js';
import {lineChart} from '../chart.js';
import {el, replace} from '../dom.js';
import {formatDuration, groupDigits, kindWords, visibleText} from '../format.js';
import {errorBox, loading, pill} from '../parts.js';
import {comparedCharts} from '../run_charts.js';

import {seriesOf} from './run_page.js';
import {runAddress} from './runs.js';

const mostRuns = 6;  // as many as there are colours

function runTable(runs) {
  return el(
      'div', {class: 'card scroll'},
      el('table', {class: 'stacking'},
         el('thead', {},
            el('tr', {}, ['Run', 'State', 'Step', 'Busy'].map((name) => el('th', {scope: 'col', text: name})))),
         el('tbody', {},
            runs.map(
                (run, index) => el(
                    'tr', {},
                    el('td', {class: 'name'}, el('span', {class: `swatch series-${index + 1}`, 'aria-hidden': 'true'}),
                       el('a', {href: runAddress(run.name), text: visibleText(run.name)}),
                       el('span', {class: 'detail', text: kindWords(run.kind)})),
                    el('td', {'data-label': 'State'}, pill(run.status)),
                    el('td', {class: 'number', 'data-label': 'Step', text: groupDigits(run.last_step ?? 0)}),
                    el('td', {class: 'number', 'data-label': 'Busy', text: formatDuration(run.busy_s)}))))));
}

export function showComparison(place, route) {
  const stop = new AbortController();
  const names = route.names.slice(0, mostRuns);

  async function load() {
    replace(place, loading());
    try {
      const runs = await Promise.all(names.map((name) => getJson(pathOf('v1/runs', name), stop.signal)));
      const charts = comparedCharts(runs.map((run) => run.metrics ?? []));
      const metrics = charts.map((chart) => chart.metric);
      const series = await Promise.all(runs.map(
          (run) => seriesOf(run.name, metrics.filter((metric) => run.metrics?.includes(metric)), stop.signal)));
      const drawn = charts.map((spec) => {
        const chart = lineChart(spec);
        chart.update(
            runs.map((run, index) => ({name: run.name, tone: index + 1, points: series[index][spec.metric] ?? []}))
                .filter((one) => one.points.length > 0));
        return chart.node;
      });
      replace(
          place, el('p', {class: 'crumb'}, el('a', {href: '#/runs', text: 'Runs'})),
          el('div', {class: 'title-line'}, el('h1', {text: `${runs.length} runs compared`})),
          route.names.length > mostRuns ? el('p', {class: 'soft', text: `Only the first ${mostRuns} are shown.`}) :
                                          null,
          runTable(runs), el('h2', {class: 'section', text: 'Curves'}),
          drawn.length > 0 ? el('div', {class: 'cards'}, drawn) :
                             el('p', {class: 'soft', text: 'These runs have no curve in common.'}));
    } catch (problem) {
      if (problem.name !== 'AbortError')
        replace(place, el('p', {class: 'crumb'}, el('a', {href: '#/runs', text: 'Runs'})), errorBox(problem, load));
    }
  }
  load();
  return () => stop.abort();
}
