// Sentences: why not the others, ways out, what was assumed.
function drawRejected(plan) {
  const all = plan.rejected.reduce((sum, each) => sum + each.count, 0);
  if (all === 0) return null;
  const part = el('section', {}, el('h2', {}, 'Why not the others'),
    el('p', { class: 'lead' }, whole(all) + ' of ' + whole(plan.layouts_considered) + ' layouts are not ranked. Each class with those nearest to a place in the plan.'));
  plan.rejected.forEach((each) => {
    const rest = each.count - each.reasons.length;
    const [name, reason] = each.reasons[0];
    part.append(el('h3', {}, each.words + ': ' + count(each.count, 'layout')),
      el('p', { class: 'small' }, el('b', {}, name), ': ' + reason + '.'));
    if (each.count > 1) {
      part.append(el('details', {}, el('summary', {}, 'more of these'),
        el('ul', { class: 'sentences' }, each.reasons.slice(1).map(([of, why]) => el('li', {}, el('b', {}, of), ': ' + why + '.'))),
        rest > 0 ? el('p', { class: 'soft' }, 'and ' + whole(rest) + ' more, all in dure plan --json.') : null));
    }
  });
  return part;
}
function drawWays(plan) {
  if (plan.ways_out.length === 0) return null;
  const card = (way) => el('div', { class: 'way' + (!way.applies ? ' no' : way.meets_limits ? '' : ' misses') }, el('b', {}, way.title), way.text + '.');
  const ways = [...plan.ways_out.filter((way) => way.applies), ...plan.ways_out.filter((way) => !way.applies)];
  return el('section', {}, el('h2', {}, plan.met ? 'What would change it' : 'Ways out'),
    el('p', { class: 'lead' }, 'Each is a plan of its own, with one thing changed' + (plan.met ? '; × is against the plan above.' : '.')), el('div', { class: 'ways' }, ways.map(card)));
}
function drawAssumptions(plan) {
  return el('section', {}, el('h2', {}, 'Assumptions'),
    el('ul', { class: 'sentences' }, plan.assumptions.map((line) => el('li', {}, line + '.'))),
    el('p', { class: 'soft small', style: 'margin-top:14px' }, whole(plan.layouts_considered) + ' layouts were looked at and ' + count(plan.loads_replayed, 'load') +
      ' replayed, by dure ' + plan.version + '. GiB and MiB are binary (2³⁰ and 2²⁰ bytes). TTFT and TPOT are means over a run.'));
}
