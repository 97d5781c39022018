// Numbers, times and sizes in words that people read. Everything here is pure: text in, text out.

const nothing = '–';

function isNumber(value) {
  return typeof value === 'number' && Number.isFinite(value);
}

// Three significant digits for small numbers, whole ones with spaces for large ones: 0.00123, 14.9, 12 345.
export function formatNumber(value, digits = 3) {
  if (!isNumber(value)) return nothing;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(digits - 1).replace('e+', 'e');
  if (size >= 10 ** digits) return groupDigits(Math.round(value));
  const text = value.toPrecision(digits);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

// Thin spaces between groups of three; numbers of four digits are read without.
export function groupDigits(whole) {
  const text = String(Math.abs(whole));
  const grouped = text.length <= 4 ? text : text.replace(/\B(?=(\d{3})+$)/g, '\u202f');
  return whole < 0 ? `−${grouped}` : grouped;
}

export function formatCount(value, one, many) {
  if (!isNumber(value)) return `${nothing} ${many}`;
  return `${groupDigits(Math.round(value))} ${Math.round(value) === 1 ? one : many}`;
}

export function formatTimeUs(us) {
  if (!isNumber(us)) return nothing;
  if (us < 1000) return `${us.toFixed(us < 100 ? 2 : 1)} µs`;
  if (us < 1e6) return `${formatNumber(us / 1000)} ms`;
  return `${formatNumber(us / 1e6)} s`;
}

export function formatSpeedup(factor) {
  if (!isNumber(factor)) return nothing;
  return `${factor < 10 ? factor.toFixed(2) : factor < 100 ? factor.toFixed(1) : groupDigits(Math.round(factor))}×`;
}

export function formatPercent(share, digits = 1) {
  return isNumber(share) ? `${(share * 100).toFixed(digits)} %` : nothing;
}

// A change with its sign: a difference of rates in points, or a relative change.
export function formatChange(change) {
  if (!isNumber(change)) return nothing;
  const text = (Math.abs(change) * 100).toFixed(1);
  return `${change < 0 ? '−' : '+'}${text} %`;
}

export function formatBytes(bytes) {
  if (!isNumber(bytes)) return nothing;
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let size = bytes;
  let unit = 0;
  while (Math.abs(size) >= 1024 && unit + 1 < units.length) {
    size /= 1024;
    ++unit;
  }
  return `${unit === 0 ? groupDigits(Math.round(size)) : size.toFixed(size < 10 ? 1 : 0)} ${units[unit]}`;
}

export function formatDuration(seconds) {
  if (!isNumber(seconds) || seconds < 0) return nothing;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
}

// "3 min ago"; the exact time belongs into a title.
export function formatAgo(timeS, nowS) {
  if (!isNumber(timeS) || timeS <= 0) return nothing;
  const age = nowS - timeS;
  if (age < 5) return 'just now';
  if (age < 60) return `${Math.round(age)} s ago`;
  if (age < 3600) return `${Math.round(age / 60)} min ago`;
  if (age < 86400) return `${Math.round(age / 3600)} h ago`;
  const days = Math.round(age / 86400);
  return days < 60 ? `${days} d ago` : formatDate(timeS).slice(0, 10);
}

export function formatDate(timeS) {
  if (!isNumber(timeS) || Math.abs(timeS) > 8.64e12) return nothing;
  return new Date(timeS * 1000).toISOString().slice(0, 16).replace('T', ' ') + ' UTC';
}

// {rows: 4096, cols: 1024} as "rows 4096 · cols 1024".
export function formatSizes(sizes) {
  if (sizes === null || typeof sizes !== 'object') return nothing;
  const parts = Object.entries(sizes).map(([name, value]) => `${name} ${value}`);
  return parts.length > 0 ? parts.join(' · ') : 'the only size';
}

// What a run's kind means.
const kinds =
    new Map(Object.entries({rl: 'reinforcement learning', sft: 'supervised training', pipeline: 'all stages'}));

export function kindWords(kind) {
  return kinds.get(kind) ?? asWords(kind);
}

// Names with _ or - as words: "compile_error" is "compile error".
export function asWords(name) {
  return typeof name === 'string' ? name.replace(/[_-]+/g, ' ') : nothing;
}

// Characters that cannot be seen or that turn the direction of writing can make a kernel read other than it compiles.
// They are shown by their number.
const unseen = new RegExp(
    '[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e]|' +
        '[\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb]|' +
        '[\\u{e0000}-\\u{e0fff}]',
    'gu');

export function visibleText(text) {
  return String(text ?? '').replace(/\r\n/g, '\n').replace(unseen, (character) => {
    const number = character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
    return `⟨U+${number}⟩`;
  });
}

// Long text of a model is cut, and says so.
export function bounded(text, most) {
  const all = String(text ?? '');
  return all.length <= most ? all : `${all.slice(0, most)}\n… ${groupDigits(all.length - most)} more characters`;
}
