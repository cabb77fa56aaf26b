// Where the time of a step goes, operation by operation, for each layout.
function stepRow(plan, layout, step, scale, what) {
  const parts = plan.operations.map(([key, words], i) => ({
    kind: 'op-' + key, words, value: step.by_operation[i], inside: seconds(step.by_operation[i]),
    text: seconds(step.by_operation[i]) + ', ' + percent(step.by_operation[i], step.seconds) + ' of the step',
  }));
  const label = layout.name + ', ' + what + ': ' + parts.filter((part) => part.value > 0).map((part) => part.words + ' ' + part.inside).join(', ');
  return barRow([el('b', { class: layout === plan.layouts[0] ? 'best' : null }, layout.name), el('div', { class: 'soft small' }, what)],
    stackedBar(parts, scale, label), [el('b', {}, seconds(step.seconds)), el('div', { class: 'soft small' }, 'bound by ' + step.bound)]);
}
function drawSteps(plan) {
  const shown = plan.layouts.filter((layout) => layout.decode);
  if (shown.length === 0) return null;
  const part = el('section', {}, el('h2', {}, 'Time of a step'),
    el('p', { class: 'lead' }, 'By operation, in the colour of the memory that it reads; exchanges between GPUs are red, launching is grey. ' +
      'On the right: the whole step, and what bounds it. TPOT is longer than a decode step where steps with prompts come between.'));
  const used = plan.operations.filter((op, i) => shown.some((layout) => layout.decode.by_operation[i] + layout.prefill.by_operation[i] > 0));
  part.append(legend(used.map(([key, words]) => ['op-' + key, words])));
  const kinds = [
    ['decode', 'A decode step', (step) => count(step.sequences, 'sequence') + ' with ' + whole(step.tokens_each) + ' tokens each'],
    ['prefill', 'A prefill step', (step) => count(step.prompt_tokens, 'prompt token')]];
  const columns = [{ name: 'Layout' }, { name: 'Step' }, ...used.map(([, words]) => ({ name: words, number: true })), { name: 'whole step', number: true }];
  const cells = [];
  for (const [key, name, what] of kinds) {
    const scale = Math.max(...shown.map((layout) => layout[key].seconds));
    part.append(el('h3', {}, name), el('div', { class: 'rows figure' }, shown.map((layout) => stepRow(plan, layout, layout[key], scale, 'of ' + what(layout[key])))));
    for (const layout of shown) {
      cells.push([layout.name, key, ...used.map((op) => seconds(layout[key].by_operation[plan.operations.indexOf(op)])), seconds(layout[key].seconds)]);
    }
  }
  part.append(asTable('Time of a step', columns, cells));
  return part;
}
