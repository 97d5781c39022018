// What a conversation's events add up to. A pure reducer: the same events give the same state, whether they came live,
// after a break, or all at once after a reload of the page. What came before is not counted twice.

export function newConversation() {
  return {
    id: null,
    lastEvent: 0,
    task: null,
    model: '',
    device: '',
    judge: '',
    turnsPlanned: null,
    samplesPlanned: 1,
    notUnderstood: [],
    baseline: null,
    given: null,
    turns: [],
    best: null,
    end: null,
  };
}

function turnOf(state, index) {
  if (!Number.isInteger(index) || index < 0 || index > 1000) return null;
  let turn = state.turns.find((one) => one.turn === index);
  if (turn === undefined) {
    turn = {turn: index, role: 'generator', givenTurn: null, liveText: '', samples: [], chosen: null, seconds: null};
    state.turns.push(turn);
    state.turns.sort((a, b) => a.turn - b.turn);
  }
  return turn;
}

function sampleOf(state, data) {
  const turn = turnOf(state, data.turn);
  if (turn === null || !Number.isInteger(data.sample) || data.sample < 0 || data.sample > 1000) return null;
  let sample = turn.samples.find((one) => one.sample === data.sample);
  if (sample === undefined) {
    sample =
        {sample: data.sample, outcome: null, message: '', kernel: null, strategies: [], verdict: null, reward: null};
    turn.samples.push(sample);
    turn.samples.sort((a, b) => a.sample - b.sample);
  }
  return sample;
}

const listOf = (value) => (Array.isArray(value) ? value : []);

const actions = new Map(Object.entries({
  begin(state, data) {
    state.id = data.id ?? state.id;
    state.task = data.task ?? null;
    state.model = data.model ?? '';
    state.device = data.device ?? '';
    state.judge = data.judge ?? '';
    state.turnsPlanned = data.turns ?? null;
    state.samplesPlanned = data.samples ?? 1;
    state.notUnderstood = listOf(data.not_understood);
  },
  baseline(state, data) {
    state.baseline = {name: data.name ?? null, message: data.message ?? ''};
  },
  given(state, data) {
    state.given = {kernel: data.kernel ?? '', writer: data.writer ?? 'user', verdict: data.verdict ?? null};
  },
  question(state, data) {
    const turn = turnOf(state, data.turn);
    if (turn === null) return;
    // A turn that a restart of the service interrupted is asked again from its beginning.
    Object.assign(turn, {liveText: '', samples: [], chosen: null, seconds: null});
    turn.role = data.role ?? turn.role;
    turn.givenTurn = data.given_turn ?? null;
  },
  text(state, data) {
    const turn = turnOf(state, data.turn);
    if (turn !== null && data.sample === 0) turn.liveText += data.text ?? '';
  },
  answer(state, data) {
    const sample = sampleOf(state, data);
    if (sample === null) return;
    sample.outcome = data.outcome ?? 'kernel';
    sample.message = data.message ?? '';
    sample.kernel = data.kernel || null;
    sample.strategies = listOf(data.strategies);
  },
  verdict(state, data) {
    const sample = sampleOf(state, data);
    if (sample === null) return;
    sample.verdict = data.verdict ?? null;
    sample.reward = data.reward ?? null;
  },
  turn(state, data) {
    const turn = turnOf(state, data.turn);
    if (turn === null) return;
    turn.chosen = data.chosen ?? 0;
    turn.seconds = data.seconds ?? null;
    turn.liveText = '';
    state.best = data.best ?? state.best;
  },
  end(state, data) {
    state.end = {
      why: data.end ?? 'error',
      problem: data.problem ?? '',
      gain: data.gain ?? null,
      seconds: data.seconds ?? null,
      tokens: data.tokens ?? null,
    };
    state.best = data.best ?? state.best;
  },
}));

// Tokens that passed while nobody listened do not come again: what is being written is begun anew.
export function forgetLiveText(state) {
  for (const turn of state.turns) turn.liveText = '';
}

// Returns whether the event was new. Unknown events are counted and otherwise ignored; passing ones have no number.
export function applyEvent(state, event) {
  const id = Number(event.id ?? 0);
  if (Number.isInteger(id) && id > 0) {
    if (id <= state.lastEvent) return false;
    state.lastEvent = id;
  }
  const data = event.data;
  if (data !== null && typeof data === 'object') actions.get(event.event)?.(state, data);
  return true;
}

// The sample that a turn ended with; while it goes on, the best that is there: a verdict before none, then the first.
export function shownSample(turn) {
  const chosen = turn.samples.find((one) => one.sample === turn.chosen);
  if (chosen !== undefined) return chosen;
  const right = turn.samples.filter((one) => one.verdict?.correct === true);
  if (right.length > 0)
    return right.reduce((a, b) => ((b.verdict.speedup_naive ?? 0) > (a.verdict.speedup_naive ?? 0) ? b : a));
  return turn.samples.find((one) => one.verdict !== null) ?? turn.samples[0] ?? null;
}

// The kernel that a turn started from: the user's own for -1, the chosen one of an earlier turn otherwise.
export function kernelBefore(state, turn) {
  if (turn.givenTurn === null) return null;
  if (turn.givenTurn < 0) return state.given?.kernel ?? null;
  const before = state.turns.find((one) => one.turn === turn.givenTurn);
  return before === undefined ? null : (shownSample(before)?.kernel ?? null);
}

// What speedups are over: the library writes the naive kernel of a task that has none.
export function baselineWords(state) {
  return state.baseline?.name === 'library' ? 'the library’s kernel' : 'the naive kernel';
}

// Whose kernel the conversation began with.
export function givenWords(state) {
  return state.given?.writer === 'library' ? 'the library’s kernel' : 'your kernel';
}

// One sentence for a turn that is over, as a screen reader says it.
export function turnSentence(turn, baseline = 'the naive kernel') {
  const sample = shownSample(turn);
  const name = `Turn ${turn.turn + 1}`;
  if (sample === null) return `${name} has no answer.`;
  if (sample.verdict === null) return `${name}: no kernel, ${sample.message || sample.outcome || 'no reason given'}`;
  if (!sample.verdict.correct) return `${name}: ${sample.verdict.summary || sample.verdict.status}`;
  const speedup = sample.verdict.speedup_naive;
  if (typeof speedup !== 'number') return `${name}: correct.`;
  return `${name}: correct, ${speedup.toFixed(2)} times as fast as ${baseline}.`;
}

// Why a conversation ended, in words.
const ends = new Map(Object.entries({
  turns: 'All turns were taken.',
  target: 'The target was reached.',
  tokens: 'The budget of tokens was spent.',
  time: 'The time was over.',
  stuck: 'The agents would only have repeated themselves.',
  refused: 'The question does not fit the model.',
  cancelled: 'Cancelled.',
  error: 'It failed.',
}));

export function endSentence(end) {
  const why = ends.get(end.why) ?? `It ended: ${end.why}.`;
  return end.problem ? `${why} ${end.problem}` : why;
}
