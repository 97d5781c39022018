// One experiment: where it stands, what the arms did, and what a person can decide.

import {getJson, pathOf, sendJson} from '../api.js';
import {plainCode} from '../code_view.js';
import {announce, el, replace} from '../dom.js';
import {formatNumber, visibleText} from '../format.js';
import {confirmDialog, errorBox, loading, pill} from '../parts.js';

import {
  armTable,
  comparisonTable,
  guardrails,
  isActive,
  rampSteps,
  ratioLine,
  shareBar,
  trail
} from './experiment_parts.js';

const pollMs = 10000;
const actorName = 'kernelwright.actor';

function standing(experiment) {
  if (experiment.state === 'draft') return 'A draft: nobody takes part yet.';
  if (isActive(experiment.state)) {
    const waits =
        experiment.state === 'waiting' ? ' The data do not decide yet; it goes on by itself as soon as they do.' : '';
    return `${formatNumber(experiment.percent)} % of the users take part.${waits}`;
  }
  return `Over: everybody gets ${visibleText(experiment.everybody_gets ?? 'the control')}.`;
}

// What can be done in this state: [verb, label, question, danger, arm].
function choices(experiment) {
  const candidates = (experiment.arms ?? []).slice(1).filter((arm) => !arm.stopped);
  if (experiment.state === 'draft')
    return [
      ['start', 'Start', 'Users begin to take part at the first stage of the ramp.', false, null],
      ['abort', 'Abort', 'The draft ends without having begun.', true, null]
    ];
  if (!isActive(experiment.state)) return [];
  return [
    ...candidates.map(
        (arm) =>
            ['promote', `Promote ${arm.name}`,
             `Everybody gets ${arm.name}, whatever the data say so far. The experiment ends.`, false, arm.name]),
    ['abort', 'Abort', 'Everybody gets the control. The experiment ends.', true, null]
  ];
}

export function showExperiment(place, route) {
  const {name} = route;
  const stop = new AbortController();
  const trouble = el('div', {});
  const body = el('div', {class: 'stack-large'});
  let timer = 0;
  let shownState = null;

  async function act([verb, label, text, danger, arm]) {
    const answer = await confirmDialog({
      title: `${label}?`,
      text,
      action: label,
      danger,
      fields: [
        {name: 'actor', label: 'Your name', value: sessionStorage.getItem(actorName) ?? '', required: true},
        ...(verb === 'start' ? [] :
                               [{name: 'reason', label: 'Reason', hint: 'It is kept in the trail.', required: true}])
      ],
    });
    if (answer === null) return;
    sessionStorage.setItem(actorName, answer.actor);
    try {
      await sendJson(
          'POST', `${pathOf('v1/experiments', name)}/${verb}`,
          {actor: answer.actor, ...(answer.reason ? {reason: answer.reason} : {}), ...(arm ? {arm} : {})});
      replace(trouble);
      announce(`${label}: done.`);
    } catch (problem) {
      replace(trouble, errorBox(problem));
    }
    clearTimeout(timer);
    load();
  }

  function draw(experiment) {
    const candidates = (experiment.arms ?? []).slice(1);
    const section = (title, ...content) =>
        el('section', {}, el('h2', {class: 'section', text: title}), el('div', {class: 'stack'}, content));
    replace(
        body,
        el('header', {}, el('p', {class: 'crumb'}, el('a', {href: '#/experiments', text: 'Experiments'})),
           el('div', {class: 'row-line title-line'}, el('h1', {text: visibleText(experiment.name)}),
              pill(experiment.state), el('span', {class: 'push'}),
              choices(experiment).map((choice) => el('button', {
                                        type: 'button',
                                        class: `button ${
                                            choice[3]                 ? 'danger-text' :
                                                choice[0] === 'start' ? 'primary' :
                                                                        ''}`,
                                        text: choice[1],
                                        on: {click: () => act(choice)}
                                      }))),
           el('p', {class: 'lead', text: standing(experiment)}), rampSteps(experiment)),
        section('Arms', shareBar(experiment), armTable(experiment)),
        section('Comparisons', candidates.map((arm) => comparisonTable(experiment, arm.name))),
        section('Guardrails', guardrails(experiment), ratioLine(experiment)),
        section('What happened', trail(experiment)),
        el('details', {class: 'card text'}, el('summary', {text: 'Definition'}),
           plainCode(JSON.stringify(experiment.definition ?? {}, null, 2), 'Definition')));
  }

  async function load() {
    try {
      const experiment = await getJson(pathOf('v1/experiments', name), stop.signal);
      // Not while somebody reads the definition or stands on a button; a new state is shown in any case.
      const busy = body.contains(document.activeElement) || body.querySelector('details[open]') !== null;
      if (!busy || experiment.state !== shownState) draw(experiment);
      shownState = experiment.state;
      timer = setTimeout(load, pollMs);
    } catch (problem) {
      if (problem.name !== 'AbortError')
        replace(
            place, el('p', {class: 'crumb'}, el('a', {href: '#/experiments', text: 'Experiments'})),
            errorBox(problem, () => {
              replace(place, trouble, body);
              load();
            }));
    }
  }
  replace(body, loading());
  replace(place, trouble, body);
  load();
  return () => {
    stop.abort();
    clearTimeout(timer);
  };
}
