// Talks to the service. Paths are relative to the page, so that it also works behind a proxy's prefix.

import {SseParser} from './sse.js';

const keyName = 'kernelwright.key';

export function apiKey() {
  return sessionStorage.getItem(keyName) ?? '';
}

export function setApiKey(key) {
  if (key === '')
    sessionStorage.removeItem(keyName);
  else
    sessionStorage.setItem(keyName, key);
}

// What went wrong, and what a person can do about it.
export class ApiError extends Error {
  constructor(message, {status = 0, type = '', param = null, retryAfterS = null, requestId = null} = {}) {
    super(message);
    this.status = status;
    this.type = type;
    this.param = param;
    this.retryAfterS = retryAfterS;
    this.requestId = requestId;
  }

  get advice() {
    if (this.status === 0) return 'The service cannot be reached. See whether kernelwright serve is running.';
    if (this.status === 401) return 'This service needs an API key: choose “API key” at the top of the page.';
    if (this.status === 404) return 'It may be from before the service was started, or its name is misspelt.';
    if (this.status === 413) return 'Shorten what is sent.';
    if (this.status === 429 || this.status === 503)
      return this.retryAfterS === null ? 'Try again in a moment.' : `Try again in ${this.retryAfterS} s.`;
    if (this.status >= 500) return `The service's log has more${this.requestId ? ` under ${this.requestId}` : ''}.`;
    return '';
  }
}

async function errorOf(response) {
  const facts = {status: response.status, requestId: response.headers.get('X-Request-Id')};
  const wait = Number(response.headers.get('Retry-After'));
  if (Number.isFinite(wait) && wait > 0) facts.retryAfterS = wait;
  let message = `The service answered ${response.status}.`;
  try {
    const {error} = await response.json();
    if (typeof error?.message === 'string') message = error.message;
    facts.type = error?.type ?? '';
    facts.param = error?.param ?? null;
  } catch {
    // Not from the service itself (a proxy, say): the status has to do.
  }
  return new ApiError(message, facts);
}

async function send(path, {method = 'GET', body, headers = {}, signal} = {}) {
  const all = {...headers};
  if (apiKey() !== '') all.Authorization = `Bearer ${apiKey()}`;
  if (body !== undefined) all['Content-Type'] = 'application/json';
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: all,
      signal,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: 'no-store',
    });
  } catch (problem) {
    if (problem.name === 'AbortError') throw problem;
    throw new ApiError('No answer from the service.');
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

export async function getJson(path, signal) {
  return (await send(path, {signal})).json();
}

export async function sendJson(method, path, body, signal) {
  return (await send(path, {method, body, signal})).json();
}

// Calls onEvent({id, event, data}) for each event until the stream ends; returns then. A stream that breaks throws.
export async function readStream(path, {method = 'GET', body, lastEventId, signal, onEvent, onOpen} = {}) {
  const headers = {Accept: 'text/event-stream'};
  if (lastEventId) headers['Last-Event-ID'] = String(lastEventId);
  const response = await send(path, {method, body, headers, signal});
  onOpen?.();
  const parser = new SseParser();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    let piece;
    try {
      piece = await reader.read();
    } catch (problem) {
      if (problem.name === 'AbortError') throw problem;
      throw new ApiError('The connection broke.');
    }
    if (piece.done) return;
    for (const event of parser.push(piece.value)) {
      let data = null;
      try {
        data = JSON.parse(event.data);
      } catch {
        continue;
      }
      onEvent({...event, data});
    }
  }
}

export const pathOf = (...parts) =>
    parts.map((part, index) => (index === 0 ? part : encodeURIComponent(part))).join('/');
