// The workbench: a task on the left, what became of it on the right.

import {getJson, pathOf, sendJson} from '../api.js';
import {announce, append, el, replace} from '../dom.js';
import {asWords, formatSpeedup} from '../format.js';
import {ago, area, errorBox, field, loading, numberInput, pill, segmented} from '../parts.js';
import {factList, speedWords, summaryLine} from '../verdict_view.js';

import {showConversation} from './conversation_view.js';
import {taskForm} from './task_form.js';
import {taskPicker} from './task_picker.js';
import {kernelPanels} from './turn_card.js';

// What was chosen outlives a visit to another view.
const memory = {
  source: 'known',
  taskName: 'softmax',
  form: null,
  picker: null,
  kernel: '',
  mode: 'faster'
};

function settingsOf(inputs) {
  const body = {
    turns: Number(inputs.turns.value),
    samples: Number(inputs.samples.value),
    seed: Number(inputs.seed.value)
  };
  if (inputs.target.value !== '') body.target = Number(inputs.target.value);
  return body;
}

function settingFields() {
  const inputs = {
    turns: numberInput(2, 1, 20),
    samples: numberInput(4, 1, 64),
    seed: numberInput(1, 0, 2147483647),
    target: numberInput('', 1, 10000, 'any'),
  };
  const node =
      el('div', {class: 'quad'}, field('Turns', inputs.turns), field('Samples', inputs.samples),
         field('Seed', inputs.seed), field('Stop at', inputs.target));
  inputs.target.placeholder = '×';
  inputs.target.title = 'A speedup that is enough; empty: take all turns';
  return {inputs, node};
}

async function recentList(place, signal) {
  try {
    const {conversations} = await getJson('v1/conversations', signal);
    if (!conversations?.length) return;
    replace(
        place, el('h2', {class: 'section', text: 'Recent conversations'}),
        el('ul', {class: 'rows-list card'},
           conversations.slice(0, 12).map(
               (one) =>
                   el('li', {}, el('a', {
                        href: `#/conversations/${encodeURIComponent(one.id)}`,
                        text: asWords(typeof one.task === 'string' ? one.task : one.task?.name)
                      }),
                      pill(one.state),
                      el('span',
                         {class: 'strong', text: one.best_speedup === null ? '' : formatSpeedup(one.best_speedup)}),
                      el('span', {class: 'soft small push'}, ago(one.created_s))))));
  } catch {
    // The list is a convenience: what matters reports its own errors.
  }
}

function welcome(place, signal) {
  const recent = el('div', {});
  replace(
      place,
      el('div', {class: 'card empty'}, el('h2', {text: 'PyTorch in, fast CUDA out'}), el('p', {
           class: 'soft',
           text: 'Choose a task or paste a function of your own. A Generator writes kernels, a judge compiles, ' +
               'checks and times each, and an Optimizer improves the best.'
         }),
         el('ol', {class: 'steps'},
            el('li', {}, el('strong', {text: 'Say what to compute'}),
               el('span', {text: 'one of the tasks, or your own PyTorch'})),
            el('li', {}, el('strong', {text: 'Make it faster'}), el('span', {text: 'turns arrive as they are judged'})),
            el('li', {}, el('strong', {text: 'Take the best kernel'}),
               el('span', {text: 'checked, timed, ready to copy'})))),
      recent);
  recentList(recent, signal);
}

function showVerdict(place, kernel, verdict) {
  replace(
      place,
      el('article', {class: 'card turn'},
         el('header', {class: 'turn-head'}, el('h2', {text: `Your kernel for ${asWords(verdict.task ?? 'the task')}`}),
            pill(verdict.status), el('span', {class: 'speed', text: speedWords(verdict)})),
         summaryLine(verdict), kernelPanels(kernel, verdict, null, 'Your kernel'), factList(verdict)));
  announce(`Judged: ${verdict.summary ?? verdict.status}`);
}

// The task's part of the panel. Returns {node, task(): what the API gets, or null after saying what is missing}.
function taskPart(problem, signal) {
  memory.form ??= taskForm();
  memory.picker ??= taskPicker((task) => {
    memory.taskName = task.name;
  });
  const {form, picker} = memory;
  const place = el('div', {});
  const edit = el('button', {type: 'button', class: 'link', text: 'Edit a copy of it'});
  const draw = () => replace(place, memory.source === 'known' ? [picker.node, edit] : form.node);
  const choice = segmented(
      'Where the task comes from', [['known', 'A known task'], ['own', 'My own PyTorch']], memory.source, (next) => {
        memory.source = next;
        draw();
      });
  edit.addEventListener('click', async () => {
    try {
      const task = await getJson(pathOf('v1/tasks', memory.taskName), signal);
      form.load(task.yaml);
      memory.source = 'own';
      choice.set('own');
      draw();
    } catch (failure) {
      if (failure.name !== 'AbortError') replace(problem, errorBox(failure));
    }
  });
  draw();
  getJson('v1/tasks', signal)
      .then(({tasks}) => {
        picker.setTasks(tasks ?? []);
        if (picker.value() === null)
          picker.choose(tasks.some((task) => task.name === memory.taskName) ? memory.taskName : tasks[0]?.name);
      })
      .catch((failure) => {
        if (failure.name !== 'AbortError') replace(problem, errorBox(failure));
      });
  return {
    node: el('div', {class: 'stack-small'}, choice.node, place),
    task() {
      if (memory.source === 'known')
        return picker.value()?.name ?? (replace(problem, errorBox(new Error('Choose a task first.'))), null);
      const yaml = form.yaml();
      return yaml === null ? null : {yaml};
    },
  };
}

// The panel on the left. Returns its node.
function panel({begin, judge, problem, signal}) {
  const part = taskPart(problem, signal);
  const settings = settingFields();
  const kernel = area(memory.kernel, 12, '__global__ void ...\n\nextern "C" void launch(...) {\n}');
  kernel.addEventListener('input', () => {
    memory.kernel = kernel.value;
  });
  const kernelField = field(
      'Your kernel', kernel, 'One CUDA file: device code, and a function launch(inputs, outputs, sizes, stream).');
  const optional = el('details', {class: 'quiet'}, el('summary', {text: 'Start from my kernel'}));
  const action = el('div', {class: 'stack-small'});
  const go = el('button', {type: 'submit', class: 'button primary wide'});
  const draw = () => {
    const faster = memory.mode === 'faster';
    go.textContent = faster ? 'Make it faster' : 'Judge my own kernel';
    replace(optional, el('summary', {text: 'Start from my kernel'}), faster ? kernelField : null);
    replace(action, faster ? [settings.node, optional] : kernelField);
  };
  const mode =
      segmented('What to do', [['faster', 'Make it faster'], ['judge', 'Judge a kernel']], memory.mode, (next) => {
        memory.mode = next;
        draw();
      });
  draw();
  return el(
      'form', {
        class: 'card panel-card',
        novalidate: true,
        'aria-label': 'What to compute',
        on: {
          submit: (event) => {
            event.preventDefault();
            replace(problem);
            const wrong = [...event.target.querySelectorAll('input')].find((input) => !input.checkValidity());
            if (wrong !== undefined) {
              wrong.reportValidity();
              return;
            }
            const task = part.task();
            if (task === null) return;
            const own = kernel.value.trim() === '' ? null : kernel.value;
            if (memory.mode === 'judge')
              judge(task, own);
            else
              begin({task, ...settingsOf(settings.inputs), ...(optional.open && own !== null ? {kernel: own} : {})});
          },
        },
      },
      el('h2', {class: 'panel-title', text: 'Task'}), part.node, el('hr', {}), mode.node, action, problem,
      el('div', {class: 'go-line'}, go));
}

export function showWorkbench(place, route) {
  const stop = new AbortController();
  const results = el('section', {class: 'results stack', 'aria-label': 'Results'});
  const problem = el('div', {});
  const bench = el('div', {class: 'bench'});
  let unfollow = () => {};

  function begin(body) {
    unfollow();
    unfollow = showConversation(results, {
      start: {path: 'v1/optimize', body},
      // A reload then finds the conversation again; no new entry in the history, and no second drawing of this view.
      onBegin: (id) => history.replaceState(null, '', `#/conversations/${encodeURIComponent(id)}`),
    });
    resultsFirst();
  }

  async function judge(task, kernel) {
    unfollow();
    if (kernel === null) {
      replace(problem, errorBox(new Error('Paste a kernel first.')));
      return;
    }
    replace(results, loading('Compiling, checking and timing …'));
    resultsFirst();
    try {
      const {verdict} = await sendJson('POST', 'v1/judge', {task, kernel}, stop.signal);
      showVerdict(results, kernel, verdict);
    } catch (failure) {
      if (failure.name !== 'AbortError') replace(results, errorBox(failure, () => judge(task, kernel)));
    }
  }

  // On a small screen the results then stand above the form.
  function resultsFirst() {
    bench.classList.add('results-first');
    if (matchMedia('(max-width: 60rem)').matches) scrollTo(0, 0);
  }

  replace(place, el('h1', {class: 'unseen', text: 'Workbench'}), bench);
  append(bench, [panel({begin, judge, problem, signal: stop.signal}), results]);
  if (route.conversation) {
    unfollow = showConversation(results, {id: route.conversation});
    resultsFirst();
  } else {
    welcome(results, stop.signal);
  }
  return () => {
    unfollow();
    stop.abort();
  };
}
