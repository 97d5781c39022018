// The list of experiments, and a new one from its definition.

import {getJson, sendJson} from '../api.js';
import {el, replace} from '../dom.js';
import {formatNumber, visibleText} from '../format.js';
import {ago, area, emptyState, errorBox, field, loading, pill} from '../parts.js';

const pollMs = 10000;

export const experimentAddress = (name) => `#/experiments/${encodeURIComponent(name)}`;

const exampleDefinition = `name: night
arms:                        # the first is the control
  - {name: control, agents: weights/tiny, weight: 0.5}
  - {name: candidate, agents: runs/night/agents, weight: 0.5}
ramp: [1, 5, 25, 50, 100]    # percent of the users who take part
goal: correct
promote: better
`;

function cardOf(one) {
  const arms = (one.arms ?? []).map((arm) => `${arm.name}${arm.stopped ? ' (stopped)' : ''}`).join(' against ');
  return el(
      'article', {class: 'card'},
      el('div', {class: 'row-line'},
         el('h2', {class: 'card-title'}, el('a', {href: experimentAddress(one.name), text: visibleText(one.name)})),
         pill(one.state)),
      el('p', {class: 'soft', text: visibleText(arms)}),
      el('p', {class: 'small'},
         ['running', 'waiting'].includes(one.state) ? `${formatNumber(one.percent)} % of the users take part` :
                                                      'Nobody takes part',
         one.updated_s ? [' · changed ', ago(one.updated_s)] : null));
}

function creator(onMade) {
  const yaml = area(exampleDefinition, 10);
  const problem = el('div', {});
  const form = el(
      'form', {
        class: 'inside stack',
        on: {
          submit: async (event) => {
            event.preventDefault();
            replace(problem);
            try {
              const made = await sendJson('POST', 'v1/experiments', {yaml: yaml.value});
              onMade(made.name);
            } catch (failure) {
              replace(problem, errorBox(failure));
            }
          },
        },
      },
      field('Definition', yaml, 'It is a draft until somebody starts it, and does not change afterwards.'), problem,
      el('div', {class: 'actions'}, el('button', {type: 'submit', class: 'button primary', text: 'Create the draft'})));
  return el('details', {class: 'card text'}, el('summary', {text: 'New experiment'}), form);
}

export function showExperiments(place) {
  const stop = new AbortController();
  const body = el('div', {}, loading());
  let timer = 0;
  async function load() {
    try {
      const {experiments} = await getJson('v1/experiments', stop.signal);
      if (experiments.length === 0)
        replace(
            body,
            emptyState(
                'No experiments yet',
                'An experiment gives some users new agents, watches what they get, and takes the agents back when ' +
                    'something is worse.'));
      else if (!body.contains(document.activeElement))
        replace(body, el('div', {class: 'cards wide'}, experiments.map(cardOf)));
      timer = setTimeout(load, pollMs);
    } catch (problem) {
      if (problem.name !== 'AbortError') replace(body, errorBox(problem, load));
    }
  }
  replace(
      place, el('div', {class: 'title-line'}, el('h1', {text: 'Experiments'})), body,
      el('div', {class: 'section'}, creator((name) => {
           location.hash = experimentAddress(name);
         })));
  load();
  return () => {
    stop.abort();
    clearTimeout(timer);
  };
}
