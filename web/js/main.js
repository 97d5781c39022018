// Starts the page: routes of the address's hash, the theme, the API key, the state of the service in the header.

import {apiKey, getJson, setApiKey} from './api.js';
import {el, replace} from './dom.js';
import {errorBox, field} from './parts.js';
import {showComparison} from './views/compare.js';
import {showExperiment} from './views/experiment_page.js';
import {showExperiments} from './views/experiments.js';
import {showRun} from './views/run_page.js';
import {showRuns} from './views/runs.js';
import {showService} from './views/service.js';
import {showWorkbench} from './views/workbench.js';

const place = document.getElementById('main');
let leave = () => {};

// Hash -> view. Each view gets the rest of the path, decoded, and returns what ends it.
const routes = [
  {path: /^#\/runs\/(.+)$/, tab: 'runs', title: (name) => name, show: (name) => showRun(place, {name})},
  {
    path: /^#\/compare\/(.+)$/,
    tab: 'runs',
    title: () => 'Runs compared',
    raw: true,
    show: (list) => showComparison(place, {names: list.split(',').map(decoded)})
  },
  {path: /^#\/runs$/, tab: 'runs', title: () => 'Runs', show: () => showRuns(place)},
  {
    path: /^#\/experiments\/(.+)$/,
    tab: 'experiments',
    title: (name) => name,
    show: (name) => showExperiment(place, {name})
  },
  {path: /^#\/experiments$/, tab: 'experiments', title: () => 'Experiments', show: () => showExperiments(place)},
  {path: /^#\/service$/, tab: 'service', title: () => 'Service', show: () => showService(place)},
  {
    path: /^#\/conversations\/(.+)$/,
    tab: 'workbench',
    title: () => 'Conversation',
    show: (id) => showWorkbench(place, {conversation: id})
  },
  {path: /^/, tab: 'workbench', title: () => 'Workbench', show: () => showWorkbench(place, {})},
];

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function go(moveFocus) {
  leave();
  const route = routes.find((one) => one.path.test(location.hash));
  const rest = route.path.exec(location.hash)[1] ?? '';
  const argument = route.raw ? rest : decoded(rest);
  for (const link of document.querySelectorAll('nav a')) {
    if (link.dataset.tab === route.tab)
      link.setAttribute('aria-current', 'page');
    else
      link.removeAttribute('aria-current');
  }
  document.title = `${route.title(argument)} · Kernelwright`;
  try {
    leave = route.show(argument);
  } catch (problem) {
    leave = () => {};
    replace(place, errorBox(problem));
    console.error(problem);
  }
  if (moveFocus) {
    place.focus({preventScroll: true});
    scrollTo(0, 0);
  }
}

function themeNow() {
  return document.documentElement.dataset.theme ??
      (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
}

function setUpTheme() {
  const button = document.getElementById('theme');
  const draw = () => button.setAttribute('aria-pressed', String(themeNow() === 'dark'));
  button.addEventListener('click', () => {
    const next = themeNow() === 'dark' ? 'light' : 'dark';
    document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem('kernelwright.theme', next);
    } catch {
      // A browser that keeps nothing: the choice holds until the page is left.
    }
    draw();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  draw();
}

function setUpKey() {
  const button = document.getElementById('key');
  const draw = () => {
    button.textContent = apiKey() === '' ? 'API key' : 'API key ✓';
  };
  button.addEventListener('click', () => {
    const input = el('input', {type: 'password', value: apiKey(), autocomplete: 'off', class: 'mono'});
    const form =
        el('form', {method: 'dialog'}, el('h2', {text: 'API key'}),
           field(
               'Key', input,
               'Only for services that have a key file. It is kept in this tab and forgotten when the tab is closed.'),
           el('div', {class: 'actions'}, el('button', {
                type: 'button',
                class: 'button',
                text: 'Forget it',
                on: {
                  click: () => {
                    input.value = '';
                    form.requestSubmit();
                  }
                }
              }),
              el('button', {type: 'submit', class: 'button primary', text: 'Use it'})));
    const dialog = el('dialog', {'aria-label': 'API key'}, form);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      setApiKey(input.value.trim());
      dialog.close();
      draw();
      go(false);
    });
    dialog.addEventListener('close', () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  });
  draw();
}

// A dot in the header: is the service there, and does it take work?
async function watchService() {
  const light = document.getElementById('light');
  const say = (kind, text) => {
    light.className = `light ${kind}`;
    light.textContent = text;
  };
  try {
    const {ready} = await getJson('ready');
    say(ready ? 'up' : 'waits', ready ? 'ready' : 'loading');
  } catch (problem) {
    say(problem.status === 503 ? 'waits' : 'down', problem.status === 503 ? 'not ready' : 'offline');
  }
  setTimeout(watchService, 15000);
}

// The hash is the route, so the link cannot lead there by itself.
document.getElementById('skip').addEventListener('click', (event) => {
  event.preventDefault();
  place.focus();
});
window.addEventListener('hashchange', () => go(true));
setUpTheme();
setUpKey();
go(false);
watchService();
