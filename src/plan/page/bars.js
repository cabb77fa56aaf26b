// Rows of stacked bars: what each part is, in the colours of its kind.

// parts: [{kind, words, value, text}] from left to right; those of value 0 are not drawn.
function stackedBar(parts, scale, label) {
  const bar = svg('svg', { role: 'img', 'aria-label': label });
  let at = 0;
  for (const part of parts) {
    if (part.value <= 0) continue;
    const width = 100 * part.value / scale;
    const rect = svg('rect', { x: at + '%', y: 0, width: width + '%', height: '100%', class: part.kind });
    bar.append(withTip(rect, part.words + '\n' + part.text));
    if (width > 9 && part.inside) {
      bar.append(svg('text', { x: at + width / 2 + '%', y: '50%', class: part.kind }, part.inside));
    }
    at += width;
  }
  return bar;
}
// Of a layout's experts a rank holds some whole, or a slice of each.
function expertText(layout, held) {
  if (held === 0) return null;
  const slices = layout.sizes.expert_slices;
  return count(held, 'expert') + (slices > 1 ? ', 1/' + slices + ' each' : '');
}
function roleOf(plan, layout) {
  return layout === plan.layouts[0] && plan.met ? 'the plan' : layout.role;
}
function barRow(what, bar, sum) {
  return el('div', {}, el('div', { class: 'what' }, what), bar, el('div', { class: 'sum' }, sum));
}
function legend(kinds) {
  return el('ul', { class: 'legend' }, kinds.map(([kind, words]) =>
    el('li', {}, el('i', { class: kind }), words)));
}
