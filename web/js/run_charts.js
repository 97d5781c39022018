// Which curves a run is shown with: the same ones as in the report of a run (docs/report.md). Pure.

// lines: [name in the legend, metric]; the first metric of a chart is the one by which runs are compared.
export const chartTable = [
  {title: 'Reward', lines: [['training', 'critic/score/mean'], ['held-out', 'exam/turns/reward']]},
  {
    title: 'Correct kernels',
    isShare: true,
    lines: [
      ['answers', 'judge/pass_rate'], ['conversations', 'conversation/pass_rate'], ['held-out', 'exam/turns/correct']
    ],
  },
  {
    title: 'Kernels that compile',
    isShare: true,
    lines: [['training', 'judge/compile_rate'], ['held-out', 'exam/compiled']],
    without: 'sft/loss'
  },
  {
    title: 'Speedup over naive',
    logarithmic: true,
    note: 'Of the best right kernel of each conversation, geometric mean.',
    lines: [['training', 'conversation/speedup_gmean'], ['held-out', 'exam/turns/speedup_gmean']],
  },
  {title: 'Reward by agent', lines: [['Generator', 'role/generator/reward'], ['Optimizer', 'role/optimizer/reward']]},
  {
    title: 'Loss',
    logarithmic: true,
    note: 'Cross entropy of an answer’s tokens, in nats.',
    lines: [['training', 'sft/loss'], ['held-out', 'exam/loss']]
  },
  {
    title: 'Exams',
    isShare: true,
    needs: 'sft/loss',
    note: 'Of greedy answers to held-out tasks.',
    lines: [
      ['correct', 'exam/correct'], ['compiled', 'exam/compiled'], ['made faster', 'exam/faster'],
      ['repaired', 'exam/repaired']
    ],
  },
  {title: 'Entropy of the policy', note: 'Nats a token.', lines: [['entropy', 'actor/entropy']]},
  {
    title: 'KL divergence',
    note: 'Nats a token.',
    lines: [
      ['of the update', 'actor/ppo_kl'], ['to the reference', 'actor/kl_loss'],
      ['sampler against trainer', 'mismatch_kl']
    ],
  },
  {
    title: 'Groups without contrast',
    isShare: true,
    note: 'All answers of such a group have the same reward: it teaches nothing.',
    lines: [['share', 'frac_reward_zero_std']]
  },
  {title: 'Tokens an answer', lines: [['tokens', 'response_length/mean']]},
];

// The charts that a run with these metrics has, with the lines that it has.
export function chartsFor(metrics) {
  const known = new Set(metrics);
  return chartTable
      .filter((chart) => (!chart.needs || known.has(chart.needs)) && (!chart.without || !known.has(chart.without)))
      .map((chart) => ({...chart, lines: chart.lines.filter(([, metric]) => known.has(metric))}))
      .filter((chart) => chart.lines.length > 0);
}

// Metrics that no chart shows, for the list of all.
export function otherMetrics(metrics) {
  const shown = new Set(chartsFor(metrics).flatMap((chart) => chart.lines.map(([, metric]) => metric)));
  return metrics.filter((metric) => !shown.has(metric));
}

// One chart for each metric that at least one of the runs has, in the order of the table.
export function comparedCharts(metricsOfRuns) {
  const all = [...new Set(metricsOfRuns.flat())];
  return chartsFor(all)
      .map((chart) => {
        const [name, metric] = chart.lines[0];
        const several = chartTable.find((one) => one.title === chart.title).lines.length > 1;
        return {...chart, metric, lines: undefined, title: several ? `${chart.title}: ${name}` : chart.title};
      })
      .filter((chart, index, list) => list.findIndex((other) => other.metric === chart.metric) === index);
}

// Points of a series with one more; a step that came before (after a resumed run) replaces what followed it.
export function withPoint(points, step, value) {
  let keep = points.length;
  while (keep > 0 && points[keep - 1][0] >= step) --keep;
  return [...points.slice(0, keep), [step, value]];
}
