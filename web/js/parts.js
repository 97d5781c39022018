// Pieces that all views are made of.

import {ApiError} from './api.js';
import {announce, el, replace, setVariable, uniqueId} from './dom.js';
import {asWords, formatAgo, formatDate} from './format.js';

const tones = new Map(Object.entries({
  correct: 'good',
  running: 'live',
  waiting: 'warn',
  finished: 'good',
  promoted: 'good',
  ended: 'good',
  wrong: 'bad',
  compile_error: 'bad',
  rejected: 'bad',
  fault: 'bad',
  race: 'bad',
  timeout: 'bad',
  launcher_error: 'bad',
  failed: 'bad',
  rolled_back: 'bad',
  aborted: 'bad',
  internal_error: 'warn',
  unsupported: 'warn',
  stopped: 'warn',
  cancelled: 'warn',
  draft: 'quiet',
}));

export function pill(status, words = asWords(status)) {
  return el('span', {class: `pill ${tones.get(status) ?? 'quiet'}`, text: words});
}

export function figure(value, name, detail, extra) {
  return el(
      'div', {class: 'card figure'}, el('div', {class: 'value', text: value}), el('div', {class: 'name', text: name}),
      detail ? el('div', {class: 'soft small', text: detail}) : null, extra ?? null);
}

export function emptyState(title, text, ...actions) {
  return el(
      'div', {class: 'card empty'}, el('h2', {text: title}), el('p', {class: 'soft', text}),
      actions.length > 0 ? el('div', {class: 'actions'}, actions) : null);
}

// An error with what to do about it. `again`: what the button "Try again" does.
export function errorBox(problem, again) {
  const advice = problem instanceof ApiError ?
      problem.advice :
      'Reload the page. If that does not help, the console of the browser has more.';
  return el(
      'div', {class: 'card problem', role: 'alert'}, el('p', {class: 'strong', text: problem.message}),
      advice ? el('p', {text: advice}) : null,
      again ? el('button', {type: 'button', class: 'button', text: 'Try again', on: {click: again}}) : null);
}

export function loading(text = 'Loading …') {
  return el('p', {class: 'soft loading', role: 'status', text});
}

export function field(label, control, hint) {
  const id = control.id || uniqueId('field');
  control.id = id;
  const hintId = hint ? `${id}-hint` : null;
  if (hintId) control.setAttribute('aria-describedby', hintId);
  return el(
      'div', {class: 'field'}, el('label', {'for': id, text: label}), control,
      hint ? el('p', {id: hintId, class: 'hint', text: hint}) : null);
}

export function numberInput(value, least, most, step = 1) {
  return el(
      'input', {type: 'number', value, min: least, max: most, step, inputmode: step === 1 ? 'numeric' : 'decimal'});
}

export function area(value, rows, placeholder = '') {
  return el(
      'textarea',
      {value, rows, placeholder, spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', class: 'mono'});
}

// A row of choices of which one is taken: radio buttons, so that arrow keys work. choices: [[value, label], ...].
export function segmented(legend, choices, value, onChange) {
  const name = uniqueId('choice');
  const group = el(
      'fieldset', {class: 'segmented'}, el('legend', {class: 'unseen', text: legend}), choices.map(([one, label]) => {
        const input =
            el('input', {type: 'radio', name, value: one, checked: one === value, on: {change: () => onChange(one)}});
        return el('label', {}, input, el('span', {text: label}));
      }));
  return {
    node: group,
    set(next) {
      for (const input of group.querySelectorAll('input')) input.checked = input.value === next;
    },
  };
}

// Tabs with panels that are made when they are first seen. tabs: [{id, label, make}].
export function tabs(label, list, first = list[0]?.id) {
  const bar = el('div', {class: 'tabs', role: 'tablist', 'aria-label': label});
  const place = el('div', {class: 'panel', role: 'tabpanel', tabindex: '-1', id: uniqueId('panel')});
  const made = new Map();
  const buttons = list.map((tab) => el('button', {
                             type: 'button',
                             role: 'tab',
                             id: uniqueId('tab'),
                             'aria-controls': place.id,
                             text: tab.label,
                             on: {click: () => select(tab.id)},
                           }));
  function select(id, focus = false) {
    const index = list.findIndex((tab) => tab.id === id);
    buttons.forEach((button, at) => {
      button.setAttribute('aria-selected', String(at === index));
      button.tabIndex = at === index ? 0 : -1;
    });
    if (!made.has(id)) made.set(id, list[index].make());
    replace(place, made.get(id));
    place.setAttribute('aria-labelledby', buttons[index].id);
    if (focus) buttons[index].focus();
    return made.get(id);
  }
  bar.addEventListener('keydown', (event) => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const now = buttons.indexOf(document.activeElement);
    select(list[(now + step + list.length) % list.length].id, true);
  });
  bar.append(...buttons);
  select(first);
  return {node: el('div', {class: 'tabbed'}, bar, place), select};
}

export function meter(share, tone = 1, label = '') {
  const bar = el('div', {class: `meter series-${tone}`, role: 'img', 'aria-label': label}, el('span', {}));
  setVariable(bar, '--share', Math.min(1, Math.max(0, Number.isFinite(share) ? share : 0)));
  return bar;
}

export function ago(timeS) {
  return el('time', {title: formatDate(timeS), text: formatAgo(timeS, Date.now() / 1000)});
}

// The clipboard is only there on https and on this machine; elsewhere the old way has to do.
async function copyText(text) {
  if (navigator.clipboard !== undefined && window.isSecureContext) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const place = el('textarea', {class: 'unseen', value: text, 'aria-hidden': 'true'});
  document.body.append(place);
  place.select();
  const done = document.execCommand('copy');
  place.remove();
  if (!done) throw new Error('The browser does not let the page copy. Select the text instead.');
}

export function copyButton(textOf, label = 'Copy') {
  const button = el('button', {type: 'button', class: 'button', text: label});
  button.addEventListener('click', async () => {
    try {
      await copyText(textOf());
      button.textContent = 'Copied';
      announce('Copied.');
    } catch (problem) {
      button.textContent = 'Not copied';
      announce(problem.message);
    }
    setTimeout(() => {
      button.textContent = label;
    }, 1600);
  });
  return button;
}

export function downloadButton(textOf, name, label = 'Download') {
  return el('button', {
    type: 'button',
    class: 'button',
    text: label,
    on: {
      click: () => {
        const address = URL.createObjectURL(new Blob([textOf()], {type: 'text/plain;charset=utf-8'}));
        const link = el('a', {href: address, download: name.replace(/[^\w.-]+/g, '_')});
        link.click();
        setTimeout(() => URL.revokeObjectURL(address), 10000);
      },
    },
  });
}

// Asks before something that cannot be taken back. Resolves to the fields' values, or null. fields: [{name, label,
// value, hint, required}].
export function confirmDialog({title, text, action, danger = false, fields = []}) {
  return new Promise((resolve) => {
    const inputs = fields.map(
        (one) => [one, el('input', {type: 'text', value: one.value ?? '', required: one.required, maxlength: 256})]);
    const heading = uniqueId('dialog');
    const form =
        el('form', {method: 'dialog'}, el('h2', {id: heading, text: title}), el('p', {text}),
           inputs.map(([one, input]) => field(one.label, input, one.hint)),
           el('div', {class: 'actions'},
              el('button', {type: 'button', class: 'button', text: 'Keep as it is', on: {click: () => dialog.close()}}),
              el('button', {type: 'submit', class: `button primary ${danger ? 'danger' : ''}`, text: action})));
    const dialog = el('dialog', {'aria-labelledby': heading}, form);
    let result = null;
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      result = Object.fromEntries(inputs.map(([one, input]) => [one.name, input.value.trim()]));
      dialog.close();
    });
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(result);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
