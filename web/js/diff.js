// The change from one kernel to the next, line by line: the longest common subsequence, by dynamic programming.
// Kernels have at most a few hundred lines; what is larger than the table allows is shown as replaced.

const mostCells = 6e6;

// Rows in order: {kind: 'same' | 'removed' | 'added', text, before, after}; `before` and `after` are line numbers from
// 1, or null where the line is not.
export function lineDiff(beforeText, afterText) {
  const before = beforeText.split('\n');
  const after = afterText.split('\n');
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) ++start;
  let beforeEnd = before.length;
  let afterEnd = after.length;
  while (beforeEnd > start && afterEnd > start && before[beforeEnd - 1] === after[afterEnd - 1]) {
    --beforeEnd;
    --afterEnd;
  }
  const rows = [];
  const same = (i, j) => rows.push({kind: 'same', text: before[i], before: i + 1, after: j + 1});
  for (let i = 0; i < start; ++i) same(i, i);
  rows.push(...middleRows(before, after, start, beforeEnd, afterEnd));
  for (let i = beforeEnd, j = afterEnd; i < before.length; ++i, ++j) same(i, j);
  return rows;
}

function middleRows(before, after, start, beforeEnd, afterEnd) {
  const height = beforeEnd - start;
  const width = afterEnd - start;
  const rows = [];
  const remove = (i) => rows.push({kind: 'removed', text: before[start + i], before: start + i + 1, after: null});
  const add = (j) => rows.push({kind: 'added', text: after[start + j], before: null, after: start + j + 1});
  if ((height + 1) * (width + 1) > mostCells) {
    for (let i = 0; i < height; ++i) remove(i);
    for (let j = 0; j < width; ++j) add(j);
    return rows;
  }
  // common[i][j]: how many lines the rests from i and from j share.
  const stride = width + 1;
  const common = new Uint32Array((height + 1) * stride);
  for (let i = height - 1; i >= 0; --i)
    for (let j = width - 1; j >= 0; --j)
      common[i * stride + j] = before[start + i] === after[start + j] ?
          common[(i + 1) * stride + j + 1] + 1 :
          Math.max(common[(i + 1) * stride + j], common[i * stride + j + 1]);
  let i = 0;
  let j = 0;
  while (i < height || j < width) {
    if (i < height && j < width && before[start + i] === after[start + j]) {
      rows.push({kind: 'same', text: before[start + i], before: start + i + 1, after: start + j + 1});
      ++i;
      ++j;
    } else if (j === width || (i < height && common[(i + 1) * stride + j] >= common[i * stride + j + 1])) {
      remove(i++);
    } else {
      add(j++);
    }
  }
  return rows;
}

// Long runs of unchanged lines become one row {kind: 'gap', count}; `context` lines stay around each change.
export function foldSame(rows, context = 3) {
  const keep = new Uint8Array(rows.length);
  rows.forEach((row, index) => {
    if (row.kind === 'same') return;
    for (let at = Math.max(0, index - context); at <= Math.min(rows.length - 1, index + context); ++at) keep[at] = 1;
  });
  const folded = [];
  for (let at = 0; at < rows.length; ++at) {
    if (keep[at]) {
      folded.push(rows[at]);
      continue;
    }
    const from = at;
    while (at + 1 < rows.length && !keep[at + 1]) ++at;
    // A gap of one line would take the place of the line.
    if (at === from)
      folded.push(rows[at]);
    else
      folded.push({kind: 'gap', count: at - from + 1});
  }
  return folded;
}

export function changeCounts(rows) {
  let added = 0;
  let removed = 0;
  for (const row of rows) {
    if (row.kind === 'added') ++added;
    if (row.kind === 'removed') ++removed;
  }
  return {added, removed};
}
