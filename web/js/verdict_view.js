// A verdict (docs/verdict.md) for people: what is wrong and where, how long it takes and what limits it.

import {el, setVariable} from './dom.js';
import {
  asWords,
  formatBytes,
  formatCount,
  formatPercent,
  formatSizes,
  formatSpeedup,
  formatTimeUs,
  visibleText
} from './format.js';

const listOf = (value) => (Array.isArray(value) ? value : []);

// Findings before hints; both say where.
export function findingsOf(verdict) {
  return [...listOf(verdict?.findings), ...listOf(verdict?.hints)];
}

// The summary, unless a finding says the same with its place.
export function summaryLine(verdict) {
  if (!verdict?.summary || findingsOf(verdict).some((finding) => finding.message === verdict.summary)) return null;
  return el('p', {class: 'summary', text: visibleText(verdict.summary)});
}

export function findingList(verdict, onLine) {
  const all = findingsOf(verdict);
  if (all.length === 0) return null;
  return el('ul', {class: 'findings'}, all.map((finding) => {
    const where = Number.isInteger(finding.line) && finding.line > 0 ?
        el('button',
           {type: 'button', class: 'link', text: `line ${finding.line}`, on: {click: () => onLine(finding.line)}}) :
        null;
    const tone = finding.severity === 'error' ? 'bad' : 'warn';
    return el(
        'li', {class: `finding ${tone}`},
        el('p', {}, el('span', {class: `pill ${tone}`, text: asWords(finding.kind ?? finding.severity ?? 'finding')}),
           ' ', where,
           finding.occurrences > 1 ?
               el('span', {class: 'soft small', text: ` ${formatCount(finding.occurrences, 'time', 'times')}`}) :
               null),
        el('p', {text: visibleText(finding.message)}),
        finding.advice ? el('p', {class: 'soft', text: visibleText(finding.advice)}) : null);
  }));
}

function bar(name, us, most, tone, strong) {
  const node =
      el('div', {class: `bar ${tone} ${strong ? 'strong' : ''}`}, el('span', {class: 'bar-name', text: name}),
         el('span', {class: 'bar-track'}, el('span', {class: 'bar-fill'})),
         el('span', {class: 'bar-value', text: formatTimeUs(us)}));
  return setVariable(node, '--share', most > 0 ? Math.max(0.004, us / most) : 0);
}

// For each train size: this kernel, the naive one and PyTorch on one scale.
export function timeBars(verdict) {
  const times = listOf(verdict?.times).filter((one) => typeof one.time_us === 'number');
  if (times.length === 0) return null;
  const source = verdict.time_source === 'measured' ?
      'Measured on a GPU.' :
      `Modelled for ${asWords(verdict.profile ?? 'the device')}, not measured.`;
  return el(
      'section', {class: 'bars'}, el('h4', {text: 'Time at each size'}), times.map((one) => {
        const others = [['naive', one.naive_us, 'tone-naive'], ['PyTorch', one.pytorch_us, 'tone-torch']].filter(
            ([, us]) => typeof us === 'number');
        const most = Math.max(one.time_us, ...others.map(([, us]) => us));
        const speedup = typeof one.naive_us === 'number' ? formatSpeedup(one.naive_us / one.time_us) : '';
        return el(
            'div', {class: 'bar-group'},
            el('p', {class: 'bar-title'}, el('span', {text: formatSizes(one.size)}), el('strong', {text: speedup})),
            bar('this kernel', one.time_us, most, 'tone-own', true),
            others.map(([name, us, tone]) => bar(name, us, most, tone, false)),
            one.limiter ? el('p', {class: 'soft small', text: `limited by ${asWords(one.limiter)}`}) : null);
      }),
      el('p', {class: 'soft small', text: source}));
}

// What the time consists of at the first train size; the largest term is the limit.
export function termBars(verdict) {
  const terms =
      listOf(verdict?.terms).filter((term) => typeof term.us === 'number' && term.us > 0).sort((a, b) => b.us - a.us);
  if (terms.length === 0) return null;
  const limiter = verdict.measured_limiter ?? verdict.limiter;
  return el(
      'section', {class: 'bars'}, el('h4', {text: 'What limits it'}),
      el('div', {class: 'bar-group'},
         terms.slice(0, 8).map(
             (term) =>
                 bar(asWords(term.name), term.us, terms[0].us, term.name === limiter ? 'tone-limit' : 'tone-term',
                     term.name === limiter))),
      limiter ?
          el('p',
             {class: 'soft small', text: `At the first size. The largest term is the limit: ${asWords(limiter)}.`}) :
          null);
}

function resourceWords(use) {
  const parts = [formatCount(use.registers, 'register', 'registers')];
  if (use.shared_bytes > 0) parts.push(`${formatBytes(use.shared_bytes)} shared`);
  if (use.spill_bytes > 0) parts.push(`${formatBytes(use.spill_bytes)} spilled`);
  if (typeof use.occupancy === 'number')
    parts.push(`occupancy ${formatPercent(use.occupancy, 0)}${
        use.occupancy < 0.999 && use.occupancy_limiter ? `, limited by ${asWords(use.occupancy_limiter)}` : ''}`);
  return parts.join(', ');
}

export function factList(verdict, extra = []) {
  const cases = listOf(verdict?.cases);
  const facts = [];
  if (cases.length > 0) facts.push(['Cases', `${cases.filter((one) => one.ok).length} of ${cases.length} right`]);
  for (const use of listOf(verdict?.resources)) facts.push([use.kernel, resourceWords(use)]);
  if (typeof verdict?.speedup_pytorch === 'number')
    facts.push(['Against PyTorch', formatSpeedup(verdict.speedup_pytorch)]);
  if (listOf(verdict?.flags).length > 0) facts.push(['Flags', verdict.flags.map(asWords).join(', ')]);
  if (typeof verdict?.judge_ms === 'number') {
    const cached = verdict.from_cache ? ', from the cache' : '';
    facts.push(['Judged in', `${formatTimeUs((verdict.judge_ms + (verdict.compile_ms ?? 0)) * 1000)}${cached}`]);
  }
  facts.push(...extra);
  if (facts.length === 0) return null;
  return el(
      'dl', {class: 'facts'},
      facts.map(([name, text]) => [el('dt', {text: visibleText(name)}), el('dd', {text: visibleText(text)})]));
}

// Both kinds of bars side by side where there is room.
export function timing(verdict) {
  const parts = [timeBars(verdict), termBars(verdict)].filter((part) => part !== null);
  return parts.length > 0 ? el('div', {class: 'timing'}, parts) : null;
}

// "68.5× the naive kernel, 14.86 µs", or nothing.
export function speedWords(verdict, baseline = 'naive') {
  if (verdict?.correct !== true || typeof verdict.time_us !== 'number') return '';
  const speedup = typeof verdict.speedup_naive === 'number' ? `${formatSpeedup(verdict.speedup_naive)} ${baseline}, ` : '';
  return `${speedup}${formatTimeUs(verdict.time_us)}`;
}
