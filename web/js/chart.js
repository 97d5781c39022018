// Curves in SVG: faint points, a smooth line through them, a crosshair that follows the pointer or the arrow keys.

import {el, replace, svg} from './dom.js';
import {formatNumber, formatPercent} from './format.js';
import {extentOf, logTicks, niceTicks, paddedRange, scaleTo, smooth, thinned} from './scales.js';

const width = 400;
const height = 190;
const left = 46;
const right = 10;
const top = 10;
const bottom = 24;
const mostPoints = 600;

// options: title, note, xName ('step'), xFormat, yFormat, isShare, logarithmic, smoothed (false: the line goes through
// the points), least (a value that the axis includes). Returns {node, update(series)}; a series is
// {name, tone: 1..6, points: [[x, y|null], ...]}.
export function lineChart(options) {
  const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, class: 'chart', role: 'img', tabindex: '0'});
  const legend = el('div', {class: 'legend'});
  const reading = el('p', {class: 'reading soft small', 'aria-live': 'off'});
  const node =
      el('figure', {class: 'card chart-card'}, el('figcaption', {}, el('h3', {text: options.title})), legend, picture,
         reading, options.note ? el('p', {class: 'soft small', text: options.note}) : null);
  const state = {series: [], places: null, at: null};
  const update = (series) => {
    state.series = series.map((one) => ({...one, points: usable(one.points, options.logarithmic)}));
    replace(
        legend,
        series.length > 1 ? series.map((one) => el('span', {class: `series-${one.tone}`, text: one.name})) : null);
    draw(picture, state, options);
    readOut(reading, state, options);
    picture.setAttribute('aria-label', description(state, options));
  };
  addCrosshair(picture, state, () => {
    draw(picture, state, options);
    readOut(reading, state, options);
  });
  return {node, update};
}

function usable(points, logarithmic) {
  const known =
      points.filter(([x, y]) => Number.isFinite(x) && y !== null && Number.isFinite(y) && (!logarithmic || y > 0));
  return thinned(known, mostPoints);
}

function yTextOf(options) {
  return options.yFormat ?? (options.isShare ? (value) => formatPercent(value, 0) : (value) => formatNumber(value));
}

function description(state, options) {
  const parts = state.series.filter((one) => one.points.length > 0).map((one) => {
    const text = yTextOf(options);
    return `${one.name}: from ${text(one.points[0][1])} to ${text(one.points.at(-1)[1])} in ${
        one.points.length} points`;
  });
  return `${options.title}. ${parts.join('; ') || 'No points yet.'}`;
}

function placesOf(series, options) {
  const xs = extentOf(series.flatMap((one) => one.points.map(([x]) => x)));
  const ys = extentOf(series.flatMap((one) => one.points.map(([, y]) => y)));
  if (xs === null || ys === null) return null;
  const includes = options.least === undefined ? ys : [Math.min(ys[0], options.least), ys[1]];
  const [low, high] = options.logarithmic ? [ys[0] / 1.15, ys[1] * 1.15] : paddedRange(...includes, options.isShare);
  const [first, last] = xs[0] === xs[1] ? [xs[0] - 1, xs[1] + 1] : xs;
  return {
    low,
    high,
    first,
    last,
    x: scaleTo(first, last, left, width - right),
    y: scaleTo(low, high, height - bottom, top, options.logarithmic),
  };
}

function draw(picture, state, options) {
  const places = placesOf(state.series, options);
  state.places = places;
  if (places === null) {
    replace(picture, svg('text', {x: width / 2, y: height / 2, class: 'tick middle', text: 'no points yet'}));
    return;
  }
  replace(picture, axes(places, options), state.series.map((one) => curve(one, places, options)), crosshair(state));
}

function axes(places, options) {
  const yTicks = options.logarithmic ? logTicks(places.low, places.high, 6) : niceTicks(places.low, places.high, 5);
  const xTicks = niceTicks(places.first, places.last, 6).filter((tick) => options.xFormat || Number.isInteger(tick));
  const yText = yTextOf(options);
  return [
    yTicks.map(
        (tick) =>
            [svg('line', {class: 'grid', x1: left, x2: width - right, y1: places.y(tick), y2: places.y(tick)}),
             svg('text', {class: 'tick end', x: left - 6, y: places.y(tick) + 3.5, text: yText(tick)}),
  ]),
    xTicks.map((tick) => svg('text', {
                 class: 'tick middle',
                 x: Math.min(width - right - 6, places.x(tick)),
                 y: height - 8,
                 text: (options.xFormat ?? ((value) => formatNumber(value, 4)))(tick),
               })),
  ];
}

function pathOf(points, places) {
  return points.map(([x, y], index) => `${index === 0 ? 'M' : 'L'}${places.x(x).toFixed(1)} ${places.y(y).toFixed(1)}`)
      .join('');
}

function curve(series, places, options) {
  const {points, tone} = series;
  if (points.length === 0) return null;
  const smoothed = options.smoothed !== false && points.length >= 8;
  const logs = (value) => (options.logarithmic ? Math.log(value) : value);
  const back = (value) => (options.logarithmic ? Math.exp(value) : value);
  const line = smoothed ? smooth(points.map(([x, y]) => [x, logs(y)])).map(([x, y]) => [x, back(y)]) : points;
  const inside = (value) => Math.min(places.high, Math.max(places.low, value));
  const dots = smoothed || points.length <= 12 ? points.map(([x, y]) => svg('circle', {
                                                              class: smoothed ? 'faint' : 'dot',
                                                              cx: places.x(x).toFixed(1),
                                                              cy: places.y(y).toFixed(1),
                                                              r: smoothed ? 1.6 : 2.6,
                                                            })) :
                                                 null;
  return svg(
      'g', {class: `series-${tone}`}, smoothed ? dots : null,
      svg('path', {class: 'line', d: pathOf(line.map(([x, y]) => [x, inside(y)]), places)}), smoothed ? null : dots);
}

function nearest(points, x) {
  return points.reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best), points[0]);
}

function crosshair(state) {
  if (state.at === null) return null;
  const {places} = state;
  const x = Math.min(places.last, Math.max(places.first, state.at));
  return svg(
      'g', {}, svg('line', {class: 'cross', x1: places.x(x), x2: places.x(x), y1: top, y2: height - bottom}),
      state.series.filter((one) => one.points.length > 0).map((one) => {
        const [px, py] = nearest(one.points, x);
        return svg('circle', {class: `dot series-${one.tone}`, cx: places.x(px), cy: places.y(py), r: 3.5});
      }));
}

function readOut(reading, state, options) {
  const yText =
      options.yFormat ?? (options.isShare ? (value) => formatPercent(value) : (value) => formatNumber(value, 4));
  const shown = state.series.filter((one) => one.points.length > 0);
  if (shown.length === 0) {
    reading.textContent = '';
    return;
  }
  const at = state.at === null ? Math.max(...shown.map((one) => one.points.at(-1)[0])) : state.at;
  const near = shown.map((one) => [one, nearest(one.points, at)]);
  const where = (x) => (options.xFormat ? options.xFormat(x) : `${options.xName ?? 'step'} ${formatNumber(x, 6)}`);
  const first = near[0][1][0];
  // A series that has no point there says where its nearest one is.
  const parts = near.map(([one, [x, y]], index) => {
    const value = el('span', {class: shown.length > 1 ? `tone series-${one.tone}` : '', text: yText(y)});
    return [index > 0 ? ', ' : '', value, x === first ? '' : ` (${where(x)})`];
  });
  replace(reading, `${where(first)}: `, parts);
}

function addCrosshair(picture, state, changed) {
  const move = (at) => {
    state.at = at;
    if (state.places !== null) changed();
  };
  picture.addEventListener('pointermove', (event) => {
    if (state.places === null) return;
    const box = picture.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * width;
    const share = Math.min(1, Math.max(0, (x - left) / (width - right - left)));
    move(state.places.first + share * (state.places.last - state.places.first));
  });
  picture.addEventListener('pointerleave', () => move(null));
  picture.addEventListener('blur', () => move(null));
  picture.addEventListener('keydown', (event) => {
    if (state.places === null || !['ArrowLeft', 'ArrowRight'].includes(event.key)) return;
    event.preventDefault();
    const all = [...new Set(state.series.flatMap((one) => one.points.map(([x]) => x)))].sort((a, b) => a - b);
    const now = state.at === null ? all.length : all.findIndex((x) => x >= state.at);
    const next = Math.min(all.length - 1, Math.max(0, now + (event.key === 'ArrowLeft' ? -1 : 1)));
    move(all[next]);
  });
}

// A line of a history without axes, for figures; points are numbers.
export function sparkline(values, tone, label) {
  const picture = svg(
      'svg', {viewBox: '0 0 120 28', class: 'spark', role: 'img', 'aria-label': label, preserveAspectRatio: 'none'});
  const range = extentOf(values);
  if (range === null || values.length < 2) return picture;
  const x = scaleTo(0, values.length - 1, 1, 119);
  const y = scaleTo(Math.min(0, range[0]), range[1] || 1, 26, 2);
  const points = values.map((value, index) => [x(index), y(Number.isFinite(value) ? value : 0)]);
  const d = points.map(([px, py], index) => `${index === 0 ? 'M' : 'L'}${px.toFixed(1)} ${py.toFixed(1)}`).join('');
  return replace(
      picture,
      svg('g', {class: `series-${tone}`}, svg('path', {class: 'area', d: `${d}L119 28L1 28Z`}),
          svg('path', {class: 'line', d})));
}
