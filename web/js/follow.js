// Follows one conversation to its end, through broken connections and reloads: its events are numbered and the service
// keeps them, so a follower asks for what comes after the last one it has.

import {ApiError, pathOf, readStream} from './api.js';
import {applyEvent, forgetLiveText} from './conversation.js';

const longestPauseS = 20;

function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(new DOMException('stopped', 'AbortError'));
    }, {once: true});
  });
}

// Worth another try: the line broke, or the service is busy or restarting.
function mayPass(problem) {
  return problem instanceof ApiError && [0, 429, 502, 503, 504].includes(problem.status);
}

// `start`: {path, body} to POST, or null to follow state.id. onChange(event) after each new event; onLink('live' |
// 'waiting', seconds) when the connection comes or goes. Returns when the conversation has ended; throws when it cannot
// be followed.
export async function followConversation(state, start, {signal, onChange, onLink}) {
  const onEvent = (event) => {
    if (applyEvent(state, event)) onChange(event);
  };
  let tries = 0;
  const onOpen = () => {
    tries = 0;
    onLink('live', 0);
  };
  let posted = start === null;
  while (state.end === null) {
    try {
      if (!posted) {
        await readStream(start.path, {method: 'POST', body: {...start.body, stream: true}, signal, onEvent, onOpen});
        posted = true;
      } else {
        const path = pathOf('v1/conversations', state.id, 'events');
        await readStream(path, {lastEventId: state.lastEvent, signal, onEvent, onOpen});
      }
      if (state.end !== null) return;
    } catch (problem) {
      // Without a first event nothing is known to follow, and asking again could start a second conversation.
      if (state.id === null || problem.name === 'AbortError' || !mayPass(problem)) throw problem;
      posted = true;
    }
    if (state.id === null) throw new ApiError('The service ended the stream before it began.', {status: 500});
    const seconds = Math.min(longestPauseS, 0.5 * 2 ** tries++);
    forgetLiveText(state);
    onLink('waiting', seconds);
    await pause(seconds, signal);
  }
}
