// Kernels on the page: with colours, findings under their lines and the share of the time that a line costs; or as the
// change from another kernel.

import {tokenizeLines} from './cuda_tokens.js';
import {changeCounts, foldSame, lineDiff} from './diff.js';
import {el} from './dom.js';
import {formatPercent, visibleText} from './format.js';

const mostLines = 3000;

function coloured(tokens) {
  return tokens.map(
      (token) => (token.kind === 'plain' ? token.text : el('span', {class: `t-${token.kind}`, text: token.text})));
}

function numbered(number, content, kind = '') {
  return el(
      'div', {class: `row ${kind}`}, el('i', {class: 'n', 'aria-hidden': 'true', text: number ?? ''}),
      el('code', {}, content));
}

function codeBox(label, rows) {
  return el(
      'div', {class: 'code', role: 'group', tabindex: '0', 'aria-label': label}, el('div', {class: 'rows'}, rows));
}

function byLine(list) {
  const lines = new Map();
  for (const one of list) {
    if (!Number.isInteger(one.line) || one.line < 1) continue;
    if (!lines.has(one.line)) lines.set(one.line, []);
    lines.get(one.line).push(one);
  }
  return lines;
}

function findingRow(finding) {
  const bad = finding.severity === 'error';
  return el(
      'div', {class: `at-line ${bad ? 'bad' : 'warn'}`}, el('strong', {text: visibleText(finding.message)}),
      finding.advice ? el('span', {text: visibleText(finding.advice)}) : null);
}

// findings: with line, message, advice, severity; hotLines: with line, share, reason.
export function kernelView(kernel, {findings = [], hotLines = [], label = 'Kernel'} = {}) {
  const lines = tokenizeLines(visibleText(kernel).replace(/\n+$/, ''));
  const found = byLine(findings);
  const hot = byLine(hotLines);
  const rows = lines.slice(0, mostLines).flatMap((tokens, index) => {
    const number = index + 1;
    const bad = found.has(number);
    const row = numbered(number, coloured(tokens), bad ? 'marked' : '');
    row.dataset.line = number;
    const cost = hot.get(number)?.[0];
    if (cost !== undefined && cost.share >= 0.005)
      row.append(el('span', {class: 'hot', text: `${formatPercent(cost.share, 0)} ${visibleText(cost.reason ?? '')}`}));
    return [row, ...(found.get(number) ?? []).map(findingRow)];
  });
  if (lines.length > mostLines) rows.push(numbered('', `${lines.length - mostLines} more lines are not shown`, 'gap'));
  return codeBox(label, rows);
}

// Scrolls a kernel's view to a line and marks it for a moment.
export function showLine(view, line) {
  const row = view.querySelector(`[data-line="${Number(line)}"]`);
  if (row === null) return;
  row.scrollIntoView(
      {block: 'center', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth'});
  row.classList.add('flash');
  setTimeout(() => row.classList.remove('flash'), 1600);
}

export function diffView(before, after) {
  const beforeText = visibleText(before).replace(/\n+$/, '');
  const afterText = visibleText(after).replace(/\n+$/, '');
  const rows = lineDiff(beforeText, afterText);
  const {added, removed} = changeCounts(rows);
  if (added + removed === 0) return el('p', {class: 'soft', text: 'The kernel did not change.'});
  const beforeLines = tokenizeLines(beforeText);
  const afterLines = tokenizeLines(afterText);
  const shown = foldSame(rows).slice(0, mostLines).map((row) => {
    if (row.kind === 'gap') return numbered('', `${row.count} lines as before`, 'gap');
    const tokens = row.kind === 'removed' ? beforeLines[row.before - 1] : afterLines[row.after - 1];
    const sign = {same: '  ', added: '+ ', removed: '- '}[row.kind];
    return numbered(row.after ?? row.before, [el('span', {class: 'sign', text: sign}), coloured(tokens)], row.kind);
  });
  return codeBox(`Changes: ${added} lines added, ${removed} removed`, shown);
}

export function plainCode(text, label) {
  return el('pre', {class: 'plain-code', tabindex: '0', 'aria-label': label, text: visibleText(text)});
}
