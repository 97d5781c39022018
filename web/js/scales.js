// Where things lie on an axis: ranges, round tick values, and a smooth line through noisy points. Pure.

export function extentOf(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : null;
}

// Round values (1, 2, 5 times a power of ten) that lie in [low, high]; at most `most` of them.
export function niceTicks(low, high, most = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.999) ?? 10 * power;
  const ticks = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; ++at)
    ticks.push(Number((at * step).toPrecision(12)));
  return ticks;
}

// Powers of two or ten, whichever are few enough.
export function logTicks(low, high, most = 6) {
  if (!(low > 0) || !(high > low)) return [low];
  for (const base of [2, 4, 10, 100, 1000]) {
    const ticks = [];
    const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9);
    const last = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
    if (last - first + 1 > most) continue;
    for (let at = first; at <= last; ++at) ticks.push(base ** at);
    if (ticks.length > 0) return ticks;
  }
  return [low, high];
}

// A range with some air, that has a height even when all values are equal.
export function paddedRange(low, high, isShare) {
  if (isShare) return [Math.max(0, Math.min(low, 1) - 0.03), Math.min(1, Math.max(high, 0) + 0.03)].map(roundShare);
  if (low === high) {
    const reach = Math.abs(low) * 0.1 || 1;
    return [low - reach, high + reach];
  }
  const air = (high - low) * 0.08;
  return [low >= 0 && low - air < 0 ? 0 : low - air, high + air];
}

function roundShare(share, index) {
  return index === 0 ? Math.floor(share * 20) / 20 : Math.ceil(share * 20) / 20;
}

export function scaleTo(low, high, from, to, logarithmic = false) {
  const place = logarithmic ? Math.log : (value) => value;
  const start = place(low);
  const width = place(high) - start || 1;
  return (value) => from + ((place(value) - start) / width) * (to - from);
}

// A local linear fit with tricube weights over the nearest `reach` of all points, as in the reports of runs.
export function smooth(points, reach = 0.3) {
  const known = points.filter(([, y]) => y !== null && Number.isFinite(y));
  const span = Math.max(5, Math.ceil(known.length * reach));
  if (known.length < 8) return known;
  return known.map(([x], index) => {
    const from = Math.max(0, Math.min(index - (span >> 1), known.length - span));
    const near = known.slice(from, from + span);
    return [x, fitAt(near, x)];
  });
}

function fitAt(near, x) {
  const reach = Math.max(...near.map(([other]) => Math.abs(other - x))) * 1.0001 || 1;
  let sum = 0, sumX = 0, sumY = 0, sumXX = 0, sumXY = 0;
  for (const [otherX, y] of near) {
    const weight = (1 - (Math.abs(otherX - x) / reach) ** 3) ** 3;
    const dx = otherX - x;
    sum += weight;
    sumX += weight * dx;
    sumY += weight * y;
    sumXX += weight * dx * dx;
    sumXY += weight * dx * y;
  }
  const determinant = sum * sumXX - sumX * sumX;
  if (Math.abs(determinant) < 1e-12 * sum * sumXX || determinant === 0) return sumY / sum;
  return (sumXX * sumY - sumX * sumXY) / determinant;
}

// At most `most` points, evenly taken, the last always among them: a chart has no room for more.
export function thinned(points, most) {
  if (points.length <= most) return points;
  const step = (points.length - 1) / (most - 1);
  return Array.from({length: most}, (_, index) => points[Math.round(index * step)]);
}
