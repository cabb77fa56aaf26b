// Nodes and ranks: where the replicas lie on the cluster, and what each rank of one holds.
function clusterBox(box, layout) {
  const gpus = el('div', { class: 'gpus' });
  const prefill = layout.pools ? layout.pools.prefill.workers : 0;
  for (const [unit, size] of box.gpus) {
    const kind = unit < 0 ? 'idle' : (unit < prefill ? 'prefill ' : '') + (unit % 2 ? 'odd' : '');
    for (let i = 0; i < size; ++i) gpus.append(el('i', { class: kind }));
  }
  const nodes = box.last - box.first + 1;
  const name = nodes > 1 ? nodes + ' nodes, ' + box.first + '–' + box.last : 'node ' + box.first;
  return el('div', { class: 'box' }, el('div', {}, name), gpus);
}
function drawCluster(layout) {
  const idle = layout.cluster.some((box) => box.gpus.some(([unit]) => unit < 0));
  const unit = layout.pools ? 'Green GPUs prefill, the others decode; neighbours of another shade are another worker'
    : layout.replicas > 1 ? 'Neighbours of another shade are another replica' : 'One replica takes these GPUs';
  const what = (layout.fits ? unit : 'A single replica would take these GPUs') + (idle ? '; dashed ones are idle.' : '.');
  return [el('div', { class: 'cluster', role: 'img', 'aria-label': layout.fits ? splitText(layout) : 'the cluster' },
    layout.cluster.map((box) => clusterBox(box, layout))), el('p', { class: 'soft small' }, what)];
}

const rankFields = ['gpu', 'rank', 'stage', 'dp', 'tp', 'ep'];
function rankOf(row) {
  const rank = { layers: [row[6], row[7]], experts: [row[8], row[9]], bar: row[10] };
  rankFields.forEach((field, i) => { rank[field] = row[i]; });
  return rank;
}
function sameOf(ranks, field) {
  return ranks.every((rank) => String(rank[field]) === String(ranks[0][field]));
}
// What all ranks of a node have in common is told once, above them.
function rankCell(plan, layout, rank, told, scale) {
  const place = ['stage', 'dp', 'tp'].filter((field) => told[field]).map((field) => field + ' ' + rank[field]).join(' · ');
  const lines = [place || null, told.layers ? 'layers ' + span(rank.layers) : null,
    told.experts ? (rank.experts[1] > rank.experts[0] ? 'experts ' + span(rank.experts) : 'no experts') : null].filter(Boolean);
  const group = layout.memory[rank.bar];
  const parts = memoryParts(plan.memory_kinds, group);
  const bar = svg('svg', { 'aria-hidden': 'true' });
  let at = 0;
  for (const part of parts) {
    if (part.value <= 0) continue;
    const width = 100 * part.value / scale;
    bar.append(svg('rect', { x: at + '%', y: 0, width: width + '%', height: '100%', class: part.kind }));
    at += width;
  }
  const cell = el('div', { class: 'rank' }, el('b', {}, 'GPU ' + rank.gpu), ...lines.map((line) => el('div', {}, line)), bar);
  return withTip(cell, 'rank ' + rank.rank + ': stage ' + rank.stage + ', dp ' + rank.dp + ', tp ' + rank.tp + ', ep ' + rank.ep +
    '\nlayers ' + span(rank.layers) + ', experts ' + span(rank.experts) + '\ntakes ' + bytes(group.total) + (group.free < 0 ? ', ' + bytes(-group.free) + ' too much' : ', ' + bytes(group.free) + ' free'));
}
function drawNode(plan, layout, node, scale) {
  const ranks = node.ranks.map(rankOf);
  const all = node.ranges;
  const alike = node.last - node.first + 1;
  const told = { stage: !sameOf(ranks, 'stage'), dp: !sameOf(ranks, 'dp'), tp: !sameOf(ranks, 'tp'), layers: !sameOf(ranks, 'layers'), experts: !sameOf(ranks, 'experts') };
  const common = ['stage ' + range(all.stage), 'layers ' + span(all.layers)];
  if (all.experts[1] > all.experts[0]) common.push('experts ' + span(all.experts) + (layout.sizes.expert_slices > 1 ? ', 1/' + layout.sizes.expert_slices + ' each' : ''));
  common.push('dp ' + range(all.dp), 'tp ' + range(all.tp));
  const name = alike > 1 ? 'Nodes ' + node.first + '–' + node.last : 'Node ' + node.first;
  return el('div', { class: 'node' }, el('p', {}, el('b', {}, name), el('span', { class: 'soft' }, common.join(' · ') +
    (alike > 1 ? '. ' + whole(alike) + ' nodes hold as much; drawn is node ' + node.first : ''))),
    el('div', { class: 'ranks' + (ranks.length > 16 ? ' many' : '') }, ranks.map((rank) => rankCell(plan, layout, rank, told, scale))));
}
function drawReplica(plan, layout) {
  const scale = Math.max(plan.question.gpu_bytes, ...layout.memory.map((group) => group.total));
  const title = layout.pools ? 'One decode worker' : layout.replicas > 1 ? 'One of ' + whole(layout.replicas) + ' replicas' : 'The replica';
  const out = [el('h3', {}, title + ', rank by rank', layout.nodes_each > 1 || layout.replicas > 1 ? el('span', { class: 'soft', style: 'font-weight:400' }, ' nodes and GPUs are its own, counted from 0') : null)];
  layout.nodes.forEach((node, i) => {
    const before = layout.nodes[i - 1];
    if (before && before.ranges.stage[1] !== node.ranges.stage[0]) out.push(el('div', { class: 'chain' }, '↓ next stage'));
    out.push(drawNode(plan, layout, node, scale));
  });
  return out;
}
function drawNodes(plan) {
  const shown = plan.layouts.filter((layout) => layout.nodes);
  if (shown.length === 0) return null;
  const place = el('div', { class: 'figure' });
  const buttons = shown.map((layout, i) => el('button', { type: 'button' }, layout.name,
    el('span', { class: 'soft' }, ' ' + roleOf(plan, layout))));
  const choose = (index) => {
    buttons.forEach((button, i) => button.setAttribute('aria-pressed', i === index));
    place.replaceChildren(...drawCluster(shown[index]), ...drawReplica(plan, shown[index]));
  };
  buttons.forEach((button, i) => button.addEventListener('click', () => choose(i)));
  choose(0);
  return el('section', {}, el('h2', {}, 'Nodes and ranks'),
    el('p', { class: 'lead' }, 'Small bars are each GPU’s memory, in the colours above.'),
    shown.length > 1 ? el('div', { class: 'choices', role: 'group', 'aria-label': 'layout' }, buttons) : null, place);
}
