// A task of the user's own, as a form and as YAML. Both show the same task; the one that was edited last counts.

import {el, replace} from '../dom.js';
import {area, field, segmented} from '../parts.js';
import {dtypes, exampleForm, formOfYaml, problemsOf, yamlOfForm} from '../task_text.js';

function tensorRow(tensor, kind, onRemove) {
  const name =
      el('input',
         {type: 'text', value: tensor.name, 'aria-label': `Name of one of the ${kind}`, class: 'mono', maxlength: 64});
  const dtype = el('select', {'aria-label': `Type of ${tensor.name || 'it'}`}, [
    ...new Set([...dtypes, tensor.dtype])
  ].map((one) => el('option', {value: one, text: one, selected: one === tensor.dtype})));
  const shape = el('input', {
    type: 'text',
    value: tensor.shape,
    'aria-label': `Shape of ${tensor.name || 'it'}`,
    placeholder: 'rows, cols',
    class: 'mono'
  });
  name.addEventListener('input', () => {
    tensor.name = name.value.trim();
  });
  dtype.addEventListener('change', () => {
    tensor.dtype = dtype.value;
  });
  shape.addEventListener('input', () => {
    tensor.shape = shape.value;
  });
  const remove = el('button', {
    type: 'button',
    class: 'icon',
    'aria-label': `Remove ${tensor.name || 'this one'}`,
    text: '×',
    on: {click: onRemove}
  });
  return el('div', {class: 'tensor'}, name, dtype, shape, remove);
}

function tensorList(tensors, kind) {
  const place = el('div', {class: 'stack-small'});
  const draw = () => replace(
      place, tensors.map((tensor, index) => tensorRow(tensor, kind, () => {
                           tensors.splice(index, 1);
                           draw();
                         })), el('button', {
        type: 'button',
        class: 'link',
        text: kind === 'inputs' ? 'Add an input' : 'Add an output',
        on: {
          click: () => {
            tensors.push(
                {name: '', dtype: tensors.at(-1)?.dtype ?? 'float32', shape: tensors.at(-1)?.shape ?? '', rest: ''});
            draw();
            place.querySelector('.tensor:last-of-type input')?.focus();
          },
        },
      }));
  draw();
  return el('fieldset', {class: 'tensors'}, el('legend', {text: kind === 'inputs' ? 'Inputs' : 'Outputs'}), place);
}

function formView(form) {
  const bind = (control, key) => {
    control.addEventListener('input', () => {
      form[key] = control.value;
    });
    return control;
  };
  return el(
      'div', {class: 'stack'},
      field(
          'PyTorch', bind(area(form.pytorch, 7), 'pytorch'),
          'A function reference(...) whose parameters are the inputs by name.'),
      tensorList(form.inputs, 'inputs'), tensorList(form.outputs, 'outputs'),
      el('div', {class: 'pair'},
         field(
             'Small sizes', bind(area(form.small, 3), 'small'),
             'Checked value by value. One a line; odd ones are strict.'),
         field('Train sizes', bind(area(form.train, 3), 'train'), 'The ones that are timed.')),
      field('Name', bind(el('input', {type: 'text', value: form.name, maxlength: 64, class: 'mono'}), 'name')));
}

// Returns {node, yaml(): the text or null after the problems were shown, load(yaml)}.
export function taskForm() {
  let form = exampleForm();
  let shows = 'form';
  const text = area('', 22);
  const problems = el('div', {role: 'alert'});
  const place = el('div', {});
  const choice = segmented('How to write the task', [['form', 'Form'], ['yaml', 'YAML']], shows, switchTo);

  function say(list) {
    replace(
        problems, list.length === 0 ? null : el('ul', {class: 'problems'}, list.map((one) => el('li', {text: one}))));
  }

  function draw() {
    say([]);
    if (shows === 'yaml')
      replace(
          place, field('YAML', text, 'Every key that a task file may have; the service reads it as it stands here.'));
    else
      replace(place, formView(form));
  }

  function switchTo(next) {
    if (next === 'yaml')
      text.value = yamlOfForm(form);
    else if (shows === 'yaml') {
      try {
        form = formOfYaml(text.value);
      } catch (problem) {
        choice.set('yaml');
        say([`The form cannot show this text (${problem.message}). It is sent as it is.`]);
        return;
      }
    }
    shows = next;
    draw();
  }
  draw();
  return {
    node: el('div', {class: 'stack-small'}, choice.node, problems, place),
    yaml() {
      if (shows === 'yaml') return text.value.trim() === '' ? (say(['Write a task first.']), null) : text.value;
      const found = problemsOf(form);
      say(found.map((one) => one.message));
      return found.length === 0 ? yamlOfForm(form) : null;
    },
    load(yaml) {
      try {
        form = formOfYaml(yaml);
        shows = 'form';
      } catch {
        text.value = yaml;
        shows = 'yaml';
      }
      choice.set(shows);
      draw();
    },
  };
}
