// Reads a stream of server-sent events (WHATWG HTML, section 9.2.6) that arrives in pieces of any length.
// EventSource is not used: it can neither POST nor send an API key.

const mostPendingCharacters = 16 << 20;

export class SseParser {
  #pending = '';
  #atStart = true;
  #data = [];
  #event = '';
  #id = null;

  // The events that are complete with this piece: {id, event, data}. `id` is the event's own, or null: unlike
  // EventSource, which repeats the last one, because events without one are passing and are not asked for again.
  push(piece) {
    this.#pending += piece;
    if (this.#pending.length > mostPendingCharacters) throw new Error('the service sent an event that has no end');
    if (this.#atStart && this.#pending.length > 0) {
      if (this.#pending.startsWith('\ufeff')) this.#pending = this.#pending.slice(1);
      this.#atStart = false;
    }
    const events = [];
    let from = 0;
    for (;;) {
      const end = this.#lineEnd(from);
      if (end === null) break;
      const event = this.#line(this.#pending.slice(from, end.at));
      if (event !== null) events.push(event);
      from = end.next;
    }
    this.#pending = this.#pending.slice(from);
    return events;
  }

  // A CR at the very end may be half of a CRLF: it waits for the next piece.
  #lineEnd(from) {
    const line = this.#pending;
    for (let at = from; at < line.length; ++at) {
      if (line[at] === '\n') return {at, next: at + 1};
      if (line[at] !== '\r') continue;
      if (at + 1 === line.length) return null;
      return {at, next: line[at + 1] === '\n' ? at + 2 : at + 1};
    }
    return null;
  }

  #line(line) {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return null;
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? '' : line.slice(colon + 1);
    if (value.startsWith(' ')) value = value.slice(1);
    if (field === 'data') this.#data.push(value);
    if (field === 'event') this.#event = value;
    if (field === 'id' && !value.includes('\0')) this.#id = value;
    return null;
  }

  #dispatch() {
    const event = this.#event === '' ? 'message' : this.#event;
    const data = this.#data.join('\n');
    const empty = this.#data.length === 0;
    const id = this.#id;
    this.#data = [];
    this.#event = '';
    this.#id = null;
    return empty ? null : {id, event, data};
  }
}
