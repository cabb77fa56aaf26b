// The plan, its runners-up and the rule of thumb side by side, with how far each may be off.
function whisker(value, band, scale, limit) {
  const x = (of) => Math.min(100, 100 * of / scale) + '%';
  const line = svg('svg', { width: 120, height: 14, 'aria-hidden': 'true', class: 'whisker' },
    svg('line', { x1: x(band[0]), x2: x(band[1]), y1: 7, y2: 7, stroke: 'currentColor', 'stroke-width': 2, opacity: 0.45 }),
    svg('circle', { cx: x(value), cy: 7, r: 4, fill: 'currentColor' }));
  if (limit > 0 && limit <= scale) {
    line.append(svg('line', { x1: x(limit), x2: x(limit), y1: 0, y2: 14, stroke: 'var(--bad)', 'stroke-width': 2 }));
  }
  return line;
}
function drawRanking(plan) {
  const served = plan.layouts.filter((layout) => layout.fits);
  if (served.length === 0) return null;
  const q = plan.question;
  const most = (key) => Math.max(...served.map((layout) => layout[key][1])) || 1;
  const ttft = most('ttft_band_s'), tpot = most('tpot_band_s');
  const cell = (text) => el('td', { class: 'number' }, text);
  const timed = (value, band, scale, limit) => el('td', {}, seconds(value), ' ', whisker(value, band, scale, limit),
    el('span', { class: 'band' }, bandText(band)));
  const columns = ['Replicas × layout', 'TTFT, with its band', 'TPOT, with its band', 'tokens/s', 'per GPU', 'per user', 'users', 'in flight at most', 'decode is bound by'];
  const rows = served.map((layout, i) => el('tr', { class: i === 0 ? 'is-best' : null },
    el('td', { class: 'name' }, el('span', { class: i === 0 ? 'best' : null }, layout.name),
      el('span', { class: 'band' }, i === 0 ? (plan.met ? 'the plan' : 'closest') : layout.role === 'runner-up' ? 'runner-up ' + i : layout.role,
        layout.meets_limits ? '' : ': misses the limits')),
    timed(layout.ttft_s, layout.ttft_band_s, ttft, q.ttft_limit_s), timed(layout.tpot_s, layout.tpot_band_s, tpot, q.tpot_limit_s),
    cell(digits(layout.tokens_per_s)), cell(digits(layout.per_gpu)), cell(digits(layout.per_user)), cell(digits(layout.users)), cell(whole(layout.users_most)),
    el('td', {}, layout.bound)));
  const part = el('section', {}, el('h2', {}, 'Layouts that were ranked'),
    el('p', { class: 'lead' }, 'Lines are the bands in which 8 of 10 measured runs lie' +
      (q.ttft_limit_s > 0 || q.tpot_limit_s > 0 ? '; a red stroke is the limit' : '') +
      '. Where those of two layouts overlap, measure both before you choose.'),
    el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Layouts that were ranked' },
      el('table', {}, el('thead', {}, el('tr', {}, columns.map((name, i) =>
        el('th', { scope: 'col', class: i > 2 && i < 7 ? 'number' : null }, name)))), el('tbody', {}, rows))));
  return part;
}
function drawRule(plan) {
  const rule = plan.rule_of_thumb;
  const first = plan.layouts[0];
  const best = first && first.fits ? first.name : null;
  const part = el('section', {}, el('h2', {}, 'Beside the rule of thumb'),
    el('p', { class: 'lead' }, 'What people try first: tp = GPUs of a node, pp = nodes' + (rule.is_ranked || !rule.runs ? '.' : '; it is in the table above, too.')),
    el('p', {}, el('b', {}, rule.name), ': ' + rule.why + '.'));
  if (rule.difference.length > 0 && best) {
    part.append(el('p', { class: 'small' }, 'Where a decode step differs, the rule of thumb’s time instead of that of ' + best + ':'),
      el('ul', { class: 'sentences small' }, rule.difference.map((line) => el('li', {}, line))));
  }
  return part;
}
