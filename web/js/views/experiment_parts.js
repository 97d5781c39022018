// Parts of an experiment's page: the ramp, the arms, comparisons with their intervals, the trail.

import {el, setVariable, svg} from '../dom.js';
import {
  asWords,
  formatChange,
  formatDate,
  formatDuration,
  formatNumber,
  formatPercent,
  formatSpeedup,
  groupDigits,
  visibleText
} from '../format.js';
import {meter, pill} from '../parts.js';
import {scaleTo} from '../scales.js';

const rates = new Set(['error', 'compile', 'correct']);
const metricNames = new Map(Object.entries({
  error: 'errors',
  compile: 'compiles',
  correct: 'correct',
  speedup: 'speedup',
  turns: 'turns',
  latency: 'latency',
  tokens: 'tokens',
}));
const nameOf = (metric) => metricNames.get(metric) ?? asWords(metric);

function valueText(metric, value) {
  if (typeof value !== 'number') return '–';
  if (rates.has(metric)) return formatPercent(value);
  if (metric === 'speedup') return formatSpeedup(value);
  if (metric === 'latency') return formatDuration(value / 1000);
  return formatNumber(value);
}

export function isActive(state) {
  return state === 'running' || state === 'waiting';
}

// The stages of the ramp, those behind, the one now, those to come.
export function rampSteps(experiment) {
  const ramp = experiment.definition?.ramp ?? [];
  const started = experiment.state !== 'draft';
  return el('ol', {class: 'ramp', 'aria-label': 'Ramp'}, ramp.map((percent, index) => {
    const now = started && isActive(experiment.state) && index === experiment.stage;
    const done = started && (index < experiment.stage || experiment.state === 'promoted');
    return el(
        'li',
        {class: now ? 'now' :
             done   ? 'done' :
                      '',
         'aria-current': now ? 'step' : null},
        el('span', {text: `${formatNumber(percent)} %`}),
        el('span',
           {class: 'unseen',
            text: now ? ' now' :
                done  ? ' done' :
                        ' to come'}));
  }));
}

export function armTable(experiment) {
  const arms = experiment.arms ?? [];
  const metrics = [...new Set(arms.flatMap((arm) => Object.keys(arm.metrics ?? {})))];
  return el(
      'div', {class: 'card scroll'},
      el('table', {},
         el('thead', {},
            el('tr', {}, el('th', {scope: 'col', text: 'Arm'}), el('th', {scope: 'col', text: 'Users'}),
               el('th', {scope: 'col', text: 'Requests'}),
               metrics.map((metric) => el('th', {scope: 'col', text: nameOf(metric)})))),
         el('tbody', {},
            arms.map(
                (arm, index) => el(
                    'tr', {},
                    el('th', {scope: 'row', class: 'name'},
                       el('span', {class: `swatch series-${(index % 6) + 1}`, 'aria-hidden': 'true'}),
                       visibleText(arm.name), arm.stopped ? [' ', pill('stopped')] : null,
                       el('span', {class: 'detail', text: visibleText(arm.agents)})),
                    el('td', {class: 'number', text: groupDigits(arm.users ?? 0)}),
                    el('td', {class: 'number'}, groupDigits(arm.requests ?? 0),
                       el('span', {class: 'detail', text: `${groupDigits(arm.requests_at_stage ?? 0)} at this stage`})),
                    metrics.map(
                        (metric) => el('td', {class: 'number', text: valueText(metric, arm.metrics?.[metric])})))))));
}

// Gain with its interval on one axis; right is better for the candidate. The interval is valid at every look.
function intervalPicture(one, reach) {
  const x = (value) => `${scaleTo(-reach, reach, 2, 98)(Math.min(reach, Math.max(-reach, value))).toFixed(2)}%`;
  const tone = one.gain_low > 0 ? 'good' : one.gain_high < 0 ? 'bad' : 'open';
  const label = `${nameOf(one.metric)}: ${formatChange(one.gain)}, between ${formatChange(one.gain_low)} and ${
      formatChange(one.gain_high)}`;
  const upright = (name, value) => svg('line', {class: name, x1: x(value), x2: x(value), y1: 2, y2: 22});
  return svg(
      'svg', {class: `interval ${tone}`, role: 'img', 'aria-label': label},
      one.guardrail ? upright('limit', -one.guardrail.tolerance) : null, upright('zero', 0),
      svg('line', {class: 'reach', x1: x(one.gain_low), x2: x(one.gain_high), y1: 12, y2: 12}),
      typeof one.gain === 'number' ? svg('circle', {cx: x(one.gain), cy: 12, r: 5}) : null);
}

export function comparisonTable(experiment, arm) {
  const all = (experiment.comparisons ?? []).filter((one) => one.arm === arm && one.pairs > 0);
  if (all.length === 0) return el('p', {class: 'soft', text: 'No pairs of requests to compare yet.'});
  const reach = Math.min(1, Math.max(0.05, ...all.flatMap((one) => [Math.abs(one.gain_low), Math.abs(one.gain_high)])));
  return el(
      'div', {class: 'card'}, el('h3', {text: `${arm} against ${experiment.arms?.[0]?.name ?? 'the control'}`}),
      el('div', {class: 'comparisons'},
         all.map(
             (one) => el(
                 'div', {class: 'comparison'},
                 el('div', {class: 'what'}, el('strong', {text: nameOf(one.metric)}),
                    one.is_goal ? el('span', {class: 'pill live', text: 'goal'}) : null,
                    one.guardrail ? el('span', {class: 'pill quiet', text: 'guardrail'}) : null),
                 intervalPicture(one, reach), el('div', {
                   class: 'figures-text number',
                   text: `${formatChange(one.gain)}  (${formatChange(one.gain_low)} to ${formatChange(one.gain_high)})`
                 })))),
      el('p', {
        class: 'soft small',
        text: `Right is better for ${arm}. Bars are intervals that hold at every look, from ${
            groupDigits(all[0].pairs)} pairs; the dashed line is what a guardrail tolerates.`
      }));
}

export function guardrails(experiment) {
  const all = (experiment.comparisons ?? []).filter((one) => one.guardrail);
  if (all.length === 0) return null;
  return el('div', {class: 'cards'}, all.map((one) => {
    const way = one.guardrail.way_to_rollback ?? 0;
    const tone = way >= 0.75 ? 6 : way >= 0.4 ? 5 : 3;
    return el(
        'div', {class: 'card'},
        el('div', {class: 'row-line'}, el('h3', {text: `${nameOf(one.metric)}, ${visibleText(one.arm)}`}),
           el('span', {class: 'push number', text: formatPercent(Math.min(1, way), 0)})),
        meter(way, tone, 'Way to a rollback'), el('p', {
          class: 'soft small',
          text: `of the evidence that rolls back. Tolerated: ${
              formatPercent(one.guardrail.tolerance)} worse; for everybody it must be shown to be less than ${
              formatPercent(one.guardrail.margin)} worse.`
        }));
  }));
}

export function ratioLine(experiment) {
  const ratio = experiment.sample_ratio;
  if (!ratio) return null;
  const share = ratio.log_evidence_needed > 0 ? Math.max(0, ratio.log_evidence) / ratio.log_evidence_needed : 0;
  return el(
      'div', {class: `card ${ratio.off ? 'problem' : ''}`}, el('h3', {text: 'Split of the users'}), el('p', {
        text: ratio.off ?
            'The arms do not get the users that their weights say. No comparison can be trusted until assignment or ' +
                'logging is repaired.' :
            'The arms get the users that their weights say.',
      }),
      meter(share, ratio.off ? 6 : 3, 'Evidence against the split'));
}

export function trail(experiment) {
  const rows = [...(experiment.audit ?? [])].reverse();
  if (rows.length === 0) return el('p', {class: 'soft', text: 'Nothing has happened yet.'});
  return el(
      'ol', {class: 'trail card'},
      rows.map(
          (row) =>
              el('li', {},
                 el('p', {class: 'row-line'}, el('strong', {text: asWords(row.action)}), row.to ? pill(row.to) : null,
                    el('span', {class: 'soft small', text: `by ${visibleText(row.actor)}`}),
                    el('time', {class: 'soft small push', text: formatDate(row.time_s)})),
                 row.reason ? el('p', {text: visibleText(row.reason)}) : null)));
}

export function shareBar(experiment) {
  const arms = experiment.arms ?? [];
  const bar = el('div', {
    class: 'split',
    role: 'img',
    'aria-label': arms.map((arm) => `${arm.name} ${formatPercent(arm.weight, 0)}`).join(', ')
  });
  const whole = arms.reduce((sum, arm) => sum + (arm.weight ?? 0), 0) || 1;
  arms.forEach(
      (arm, index) => bar.append(
          setVariable(el('span', {class: `series-${(index % 6) + 1}`}), '--share', (arm.weight ?? 0) / whole)));
  return bar;
}
