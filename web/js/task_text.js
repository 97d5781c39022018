// A task of the user's own: as fields of a form, and as the YAML text that the service gets (tasks/README.md has every
// key). Keys that the form has no field for (tolerance, naive, holdout sizes ...) are kept as they were written.

import {parseYaml} from './yaml_lite.js';

export const dtypes = ['float32', 'float16', 'bfloat16', 'int32', 'float64', 'int64', 'int8', 'uint8', 'bool'];

export function exampleForm() {
  return {
    name: 'gated',
    pytorch: 'def reference(x, gate):\n    return x * torch.sigmoid(gate)\n',
    inputs: [
      {name: 'x', dtype: 'float32', shape: 'rows, cols', rest: ''},
      {name: 'gate', dtype: 'float32', shape: 'rows, cols', rest: ''},
    ],
    outputs: [{name: 'y', dtype: 'float32', shape: 'rows, cols', rest: ''}],
    small: 'rows 7, cols 129\nrows 64, cols 256',
    train: 'rows 4096, cols 4096',
    rest: '',
  };
}

// Problems in words, with the field they belong to; empty: the form can be sent.
export function problemsOf(form) {
  const problems = [];
  const say = (field, message) => problems.push({field, message});
  if (!/def\s+reference\s*\(/.test(form.pytorch)) say('pytorch', 'Write a function that is called reference.');
  if (form.name !== '' && !/^\w+$/.test(form.name)) say('name', 'A name has letters, digits and _ only.');
  for (const [kind, tensors] of [['inputs', form.inputs], ['outputs', form.outputs]]) {
    if (tensors.length === 0) say(kind, `Name at least one of the ${kind}.`);
    for (const tensor of tensors)
      if (!/^[A-Za-z_]\w*$/.test(tensor.name)) say(kind, `"${tensor.name}" is no name: letters, digits and _.`);
  }
  for (const field of ['small', 'train'])
    for (const line of linesOf(form[field]))
      if (sizesOfLine(line) === null) say(field, `Write sizes as "rows 64, cols 256", not "${line}".`);
  if (usesNames(form) && (linesOf(form.small).length === 0 || linesOf(form.train).length === 0))
    say('train', 'Shapes with names need small sizes and train sizes, one a line.');
  return problems;
}

const linesOf = (text) => text.split('\n').map((line) => line.trim()).filter((line) => line !== '');

function usesNames(form) {
  return [...form.inputs, ...form.outputs].some((tensor) => /[A-Za-z_]/.test(tensor.shape));
}

// "rows 64, cols 256", also with = or : between; null where it is something else.
export function sizesOfLine(line) {
  const sizes = [];
  for (const part of line.split(',')) {
    const found = /^\s*([A-Za-z_]\w*)\s*[:= ]\s*(\d{1,12})\s*$/.exec(part);
    if (found === null) return null;
    sizes.push([found[1], Number(found[2])]);
  }
  return sizes;
}

const shapeEntry = (entry) => (/^(\d+|[A-Za-z_]\w*)$/.test(entry) ? entry : JSON.stringify(entry));

function tensorLine(tensor) {
  const entries = tensor.shape.split(',').map((entry) => entry.trim()).filter((entry) => entry !== '');
  return `  ${tensor.name}: {dtype: ${tensor.dtype}, shape: [${entries.map(shapeEntry).join(', ')}]${tensor.rest}}`;
}

function sizesLine(name, text) {
  const all = linesOf(text).map((line) => {
    const sizes = sizesOfLine(line) ?? [];
    return `{${sizes.map(([key, value]) => `${key}: ${value}`).join(', ')}}`;
  });
  return `  ${name}: [${all.join(', ')}]`;
}

function blockText(text) {
  const lines = text.replace(/\s+$/, '').split('\n');
  // A text whose first line is indented would set the indentation of all; the digit says how deep it really is.
  const head = /^\s/.test(lines[0] ?? '') ? '|2' : '|';
  return [head, ...lines.map((line) => (line === '' ? '' : `  ${line}`))].join('\n');
}

export function yamlOfForm(form) {
  const parts = [];
  if (form.name !== '') parts.push(`name: ${form.name}`);
  parts.push(`pytorch: ${blockText(form.pytorch)}`);
  parts.push('inputs:', ...form.inputs.map(tensorLine), 'outputs:', ...form.outputs.map(tensorLine));
  if (linesOf(form.small).length + linesOf(form.train).length > 0) {
    parts.push('sizes:', sizesLine('small', form.small), sizesLine('train', form.train));
    if (form.holdout) parts.push(sizesLine('holdout', form.holdout));
  }
  if (form.rest !== '') parts.push(form.rest);
  return `${parts.join('\n')}\n`;
}

const sizesText = (list) =>
    (list ?? []).map((sizes) => [...sizes].map(([name, value]) => `${name} ${value}`).join(', ')).join('\n');

function tensorsOf(map) {
  return [...(map ?? new Map())].map(([name, facts]) => {
    const rest = [...facts].filter(([key]) => key !== 'dtype' && key !== 'shape');
    return {
      name,
      dtype: String(facts.get('dtype') ?? 'float32'),
      shape: (facts.get('shape') ?? []).join(', '),
      rest: rest.map(([key, value]) => `, ${key}: ${flowText(value)}`).join(''),
    };
  });
}

function flowText(value) {
  if (value instanceof Map) return `{${[...value].map(([key, inner]) => `${key}: ${flowText(inner)}`).join(', ')}}`;
  if (Array.isArray(value)) return `[${value.map(flowText).join(', ')}]`;
  return typeof value === 'string' && !/^\w+$/.test(value) ? JSON.stringify(value) : String(value);
}

function restText(map) {
  const shown = new Set(['name', 'pytorch', 'inputs', 'outputs', 'sizes']);
  return [...map]
      .filter(([key]) => !shown.has(key))
      .map(([key, value]) => {
        if (typeof value === 'string' && value.includes('\n')) return `${key}: ${blockText(value)}`;
        return `${key}: ${flowText(value)}`;
      })
      .join('\n');
}

// The form of a YAML text. Throws YamlProblem, or TypeError, where the text is none that the form can show.
export function formOfYaml(text) {
  const map = parseYaml(text);
  if (!(map instanceof Map)) throw new TypeError('a task is a map of keys');
  const sizes = map.get('sizes') ?? new Map();
  return {
    name: String(map.get('name') ?? ''),
    pytorch: String(map.get('pytorch') ?? ''),
    inputs: tensorsOf(map.get('inputs')),
    outputs: tensorsOf(map.get('outputs')),
    small: sizesText(sizes.get('small')),
    train: sizesText(sizes.get('train')),
    holdout: sizesText(sizes.get('holdout')),
    rest: restText(map),
  };
}
