// Memory of each rank, stacked by kind; equal ranks are one bar.
function memoryParts(kinds, group) {
  const parts = kinds.map(([key, words], i) => ({
    kind: 'mem-' + key, words, value: group.bytes[i], text: bytes(group.bytes[i]) + ', ' + percent(group.bytes[i], group.total) + ' of what the rank takes',
    inside: bytes(group.bytes[i]),
  }));
  parts.push({ kind: 'free', words: 'free', value: group.free, text: bytes(group.free) + ' for more cache', inside: bytes(group.free) + ' free' });
  parts.push({ kind: 'spare', words: 'not given to the engine', value: group.free < 0 ? 0 : group.spare, text: bytes(group.spare) + ' of the GPU' });
  return parts;
}
function memoryBar(plan, group, scale) {
  const parts = memoryParts(plan.memory_kinds, group);
  const label = 'ranks ' + group.ranks + ': ' + parts.filter((part) => part.value > 0).map((part) => part.words + ' ' + bytes(part.value)).join(', ');
  const bar = stackedBar(parts, scale, label);
  if (group.free < 0) {
    const whole = 100 * plan.question.gpu_bytes / scale + '%';
    bar.append(svg('line', { class: 'gpu', x1: whole, x2: whole, y1: -4, y2: 34 }));
    const limit = 100 * (group.total + group.free) / scale;
    bar.append(svg('rect', { class: 'over', x: limit + '%', y: 0, width: 100 * -group.free / scale + '%', height: '100%', 'pointer-events': 'none' }),
      svg('line', { class: 'budget', x1: limit + '%', x2: limit + '%', y1: -4, y2: 34 }));
  }
  return bar;
}
function memoryRow(plan, layout, index, scale) {
  const group = layout.memory[index];
  const holds = [layout.pools ? 'a decode worker' : null, 'rank' + (group.count === 1 ? ' ' : 's ') + group.ranks, count(group.layers, 'layer'), expertText(layout, group.experts)].filter(Boolean).join(' · ');
  const name = index > 0 ? null : [el('b', { class: layout === plan.layouts[0] ? 'best' : null }, layout.name), el('span', { class: 'soft' }, ' ' + roleOf(plan, layout))];
  const sum = group.free < 0 ? el('b', { style: 'color:var(--bad)' }, bytes(-group.free) + ' missing')
    : [el('b', {}, bytes(group.total)), el('span', { class: 'soft' }, ' of ' + bytes(plan.question.gpu_bytes))];
  return barRow([name, el('div', { class: 'soft small' }, holds)].flat(), memoryBar(plan, group, scale), sum);
}
function drawMemory(plan) {
  const shown = plan.layouts.filter((layout) => layout.memory);
  if (shown.length === 0) return null;
  const groups = shown.flatMap((layout) => layout.memory);
  const scale = Math.max(plan.question.gpu_bytes, ...groups.map((group) => group.total));
  const used = plan.memory_kinds.filter((kind, i) => groups.some((group) => group.bytes[i] > 0));
  const items = used.map(([key, words]) => ['mem-' + key, words]);
  if (groups.some((group) => group.free > 0)) items.push(['free', 'free']);
  if (groups.some((group) => group.free >= 0 && group.spare > 0)) items.push(['spare', 'not given to the engine']);
  const fits = shown[0].fits;
  const rows = el('div', { class: 'rows figure' });
  for (const layout of shown) rows.append(...layout.memory.map((_, index) => memoryRow(plan, layout, index, scale)));
  const columns = [{ name: 'Layout' }, { name: 'Ranks' }, ...used.map(([, words]) => ({ name: words, number: true })),
    { name: 'free', number: true }, { name: 'not given', number: true }];
  const cells = shown.flatMap((layout) => layout.memory.map((group) => [layout.name, group.ranks,
    ...used.map((kind) => bytes(group.bytes[plan.memory_kinds.indexOf(kind)])), bytes(group.free), bytes(group.spare)]));
  return el('section', {}, el('h2', {}, 'Memory of each rank'),
    el('p', { class: 'lead' }, fits ? 'All of one GPU’s ' + bytes(plan.question.gpu_bytes) + ' (binary units), with the cache as this load fills it.'
      : 'The layout that comes nearest; cache is not counted where even the rest is too much. The black stroke is what the engine gets, the dashed one the whole GPU of ' +
        bytes(plan.question.gpu_bytes) + ' (binary units). What is hatched in red has no room.'),
    legend(items), rows, asTable('Memory of each rank', columns, cells));
}
