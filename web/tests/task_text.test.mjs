import assert from 'node:assert/strict';
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import test from 'node:test';

import {exampleForm, formOfYaml, problemsOf, sizesOfLine, yamlOfForm} from '../js/task_text.js';
import {parseYaml, YamlProblem} from '../js/yaml_lite.js';

test('every task of the suite can be read, written and read again', () => {
  const folder = new URL('../../tasks/', import.meta.url);
  const files =
      readdirSync(folder).map((name) => new URL(`${name}/task.yaml`, folder)).filter((file) => existsSync(file));
  assert.ok(files.length > 50);
  for (const file of files) {
    const form = formOfYaml(readFileSync(file, 'utf8'));
    assert.match(form.pytorch, /def reference/, file.pathname);
    assert.ok(form.inputs.length + form.outputs.length > 1, file.pathname);
    assert.deepEqual(problemsOf(form), [], file.pathname);
    assert.deepEqual(formOfYaml(yamlOfForm(form)), form, file.pathname);
  }
});

test('the example is a whole task', () => {
  assert.deepEqual(problemsOf(exampleForm()), []);
  const map = parseYaml(yamlOfForm(exampleForm()));
  assert.deepEqual([...map.keys()], ['name', 'pytorch', 'inputs', 'outputs', 'sizes']);
  assert.deepEqual(map.get('inputs').get('gate').get('shape'), ['rows', 'cols']);
  assert.deepEqual(map.get('sizes').get('small')[1].get('cols'), 256);
});

test('keys without a field are kept', () => {
  const form = formOfYaml(
      'pytorch: |\n  def reference(x):\n    return x\ninputs:\n  x: {dtype: int32, shape: ["n + 1"], ' +
      'values: {integers: [0, "vocab - 1"]}}\noutputs:\n  y: {dtype: int32, shape: [n]}\n' +
      'tolerance: {relative: 1.0e-3}\n' +
      'naive: |\n  // one\n\n  void launch() {}\n');
  const again = parseYaml(yamlOfForm(form));
  assert.equal(again.get('inputs').get('x').get('values').get('integers')[1], 'vocab - 1');
  assert.equal(again.get('tolerance').get('relative'), 0.001);
  assert.equal(again.get('naive'), '// one\n\nvoid launch() {}\n');
});

test('maps and lists over several lines', () => {
  const map =
      parseYaml('a:\n  - {b: 1,\n     c: [x, y]}\n  - d: 2\n    e: "# no comment"  # a comment\nf: text here\n');
  assert.equal(map.get('a')[0].get('c')[1], 'y');
  assert.equal(map.get('a')[1].get('e'), '# no comment');
  assert.equal(map.get('f'), 'text here');
});

test('what is no task is an error with its line', () => {
  for (const [text, line] of [
           ['a: 1\nb\n', 2], ['a: {b: 1\n', 1], ['a: 1\n   b: 2\n', 2], ['a: *b\n', 1], ['a: 1\na: 2\n', 2]])
    assert.throws(() => parseYaml(text), (problem) => problem instanceof YamlProblem && problem.line === line, text);
  assert.throws(() => parseYaml(`${'['.repeat(50)}${']'.repeat(50)}`));
  assert.throws(() => parseYaml(`a: ${'['.repeat(50)}${']'.repeat(50)}`), /deep/);
});

test('a form says what is missing', () => {
  const form = {...exampleForm(), pytorch: 'x + 1', train: '4096 x 4096', outputs: []};
  assert.deepEqual(problemsOf(form).map((problem) => problem.field), ['pytorch', 'outputs', 'train']);
  assert.deepEqual(sizesOfLine('rows 64, cols=256, n: 3'), [['rows', 64], ['cols', 256], ['n', 3]]);
  assert.equal(sizesOfLine('rows'), null);
});

test('a function that is indented as a whole stays as it is', () => {
  const form = {...exampleForm(), pytorch: '    def reference(x):\n        return x\n'};
  assert.equal(formOfYaml(yamlOfForm(form)).pytorch, form.pytorch);
});
