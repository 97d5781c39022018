// Finds a task of the suite: a text field that narrows a list (the combobox pattern of the ARIA practices guide).

import {plainCode} from '../code_view.js';
import {el, replace, uniqueId} from '../dom.js';
import {asWords, visibleText} from '../format.js';

const tiers = ['basic', 'intermediate', 'complex', 'advanced'];
const mostShown = 80;

function matches(task, words) {
  const text = `${task.name} ${asWords(task.name)} ${task.summary ?? ''} ${task.pytorch ?? ''}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

// Names that begin with what was typed come first.
function found(tasks, typed) {
  const words = typed.toLowerCase().split(/\s+/).filter((word) => word !== '');
  const hits = tasks.filter((task) => matches(task, words));
  const first = words[0] ?? '';
  return hits.sort((a, b) => Number(b.name.startsWith(first)) - Number(a.name.startsWith(first))).slice(0, mostShown);
}

function tensorWords(tensors) {
  return Object.entries(tensors ?? {})
      .map(([name, facts]) => `${name}: ${facts?.dtype ?? ''}[${(facts?.shape ?? []).join(', ')}]`)
      .join(', ');
}

export function taskDetails(task) {
  return el(
      'div', {class: 'task-details'}, task.summary ? el('p', {class: 'soft', text: visibleText(task.summary)}) : null,
      plainCode((task.pytorch ?? '').trimEnd(), `PyTorch of ${task.name}`),
      el('p', {class: 'soft small', text: visibleText(`${tensorWords(task.inputs)} → ${tensorWords(task.outputs)}`)}));
}

// Returns {node, value(), choose(name), setTasks(list)}.
export function taskPicker(onChoose) {
  const listId = uniqueId('tasks');
  const input = el('input', {
    type: 'text',
    role: 'combobox',
    'aria-expanded': 'false',
    'aria-controls': listId,
    'aria-autocomplete': 'list',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'softmax, matmul, layer norm …',
    id: uniqueId('task'),
  });
  const list = el('ul', {id: listId, role: 'listbox', class: 'options', hidden: true, 'aria-label': 'Tasks'});
  const details = el('div', {});
  const node =
      el('div', {class: 'stack-small'},
         el('div', {class: 'field picker'}, el('label', {'for': input.id, text: 'Task'}), input, list), details);
  let tasks = [];
  let shown = [];
  let active = -1;
  let chosen = null;

  function close() {
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
    active = -1;
  }

  function open(typed) {
    shown = found(tasks, typed);
    replace(
        list,
        shown.map(
            (task, index) =>
                el('li', {
                  role: 'option',
                  id: `${listId}-${index}`,
                  'aria-selected': 'false',
                  on: {
                    pointerdown: (event) => {
                      event.preventDefault();
                      choose(task.name);
                    }
                  },
                },
                   el('span', {class: 'option-name', text: task.name}), el('span', {
                     class: 'soft small',
                     text: [tiers[task.tier], visibleText(task.summary ?? '')].filter(Boolean).join(' · ')
                   }))),
        shown.length === 0 ?
            el('li', {class: 'soft small none', text: 'No task has these words. Paste your own PyTorch instead.'}) :
            null);
    list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    active = -1;
  }

  function activate(index) {
    const options = list.querySelectorAll('[role=option]');
    if (options.length === 0) return;
    active = (index + options.length) % options.length;
    options.forEach((option, at) => option.setAttribute('aria-selected', String(at === active)));
    options[active].scrollIntoView({block: 'nearest'});
    input.setAttribute('aria-activedescendant', options[active].id);
  }

  function choose(name) {
    const task = tasks.find((one) => one.name === name);
    if (task === undefined) return;
    chosen = task;
    input.value = task.name;
    replace(details, taskDetails(task));
    close();
    onChoose(task);
  }

  input.addEventListener('focus', () => input.select());
  input.addEventListener('click', () => open(''));
  input.addEventListener('input', () => open(input.value));
  input.addEventListener('blur', () => {
    close();
    if (tasks.some((task) => task.name === input.value.trim()))
      choose(input.value.trim());
    else if (chosen !== null)
      input.value = chosen.name;
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (list.hidden) open('');
      activate(active + (event.key === 'ArrowDown' ? 1 : -1));
    } else if (event.key === 'Enter' && !list.hidden) {
      event.preventDefault();
      const pick = shown[Math.max(0, active)];
      if (pick !== undefined) choose(pick.name);
    } else if (event.key === 'Escape') {
      close();
    }
  });
  return {
    node,
    choose,
    value: () => chosen,
    setTasks(list_) {
      tasks = list_;
    },
  };
}
