// The answer first: does it fit, how fast, for how many, and how far that may be off.
function badgeOf(plan) {
  const limited = plan.question.ttft_limit_s > 0 || plan.question.tpot_limit_s > 0;
  if (plan.met) return ['good', limited ? 'Fits and keeps the limits' : 'Fits'];
  return plan.fits ? ['warn', 'Fits, but misses the limits'] : ['bad', 'Does not fit'];
}
function loadText(q) {
  const load = q.concurrency > 0 ? count(q.concurrency, 'request') + ' in flight' : plain(q.rate) + ' requests/s';
  const limits = [];
  if (q.ttft_limit_s > 0) limits.push('TTFT at most ' + seconds(q.ttft_limit_s));
  if (q.tpot_limit_s > 0) limits.push('TPOT at most ' + seconds(q.tpot_limit_s));
  return load + ' of ' + whole(q.input) + ' tokens in and ' + whole(q.output) + ' out, for ' + q.objective +
    (limits.length ? '; ' + limits.join(', ') : '');
}
function tile(name, value, unit, under) {
  return el('div', { class: 'tile' }, el('div', { class: 'name' }, name),
    el('div', { class: 'value' }, value, unit ? el('small', {}, ' ' + unit) : null),
    under ? el('div', { class: 'under' }, under) : null);
}
function bandText(band) {
  return seconds(band[0]) + ' to ' + seconds(band[1]);
}
function servedTiles(best, q) {
  const measured = (band) => bandText(band) + ' in 8 of 10 measured runs';
  return [
    tile('Time per token (TPOT)', seconds(best.tpot_s), '', measured(best.tpot_band_s)),
    tile('Time to first token (TTFT)', seconds(best.ttft_s), '', measured(best.ttft_band_s)),
    tile('Output of all GPUs', digits(best.tokens_per_s), 'tokens/s',
      digits(best.per_gpu) + ' a GPU, ' + digits(best.per_user) + ' a user'),
    tile('Users answered at once', digits(best.users), '', digits(best.tokens_per_s) + ' ÷ ' + digits(best.per_user) +
      ' tokens/s; at most ' + whole(best.users_most) + ' in flight, ended by ' + best.users_end),
    tile('Tokens of a decode step', digits(best.balance.decode_tokens), '', 'balance of memory and compute at ' +
      digits(best.balance.dense_tokens) + (best.balance.moe_tokens > 0 ? ', of experts at ' + digits(best.balance.moe_tokens) : '') +
      ': the ' + best.balance.side + ' side'),
    tile('GPUs in use', whole(best.gpus_used), 'of ' + whole(q.gpus), best.gpus_idle > 0 ? whole(best.gpus_idle) + ' idle' : 'none idle'),
  ];
}
function unfitTiles(nearest, q) {
  const bar = nearest.memory.reduce((a, b) => (a.free < b.free ? a : b));
  return [
    tile('Missing on the fullest rank', bytes(nearest.missing), '', 'in the layout that comes nearest'),
    tile('Needed there', bytes(bar.charged), '', 'one of ' + count(nearest.ranks, 'rank') + '; steps of ' + whole(nearest.chunk) + ' tokens'),
    tile('Given to the engine', bytes(bar.budget), 'a GPU', 'of ' + bytes(q.gpu_bytes) + ' usable on ' + q.gpu),
    tile('One copy of the weights', bytes(q.weight_bytes), '', 'as ' + q.weights),
  ];
}
function splitText(layout) {
  if (layout.pools) {
    const { prefill, decode, transfer_s: transfer, transfer_bytes: size } = layout.pools;
    return count(prefill.workers, 'worker') + ' of ' + count(prefill.gpus, 'GPU') + ' prefill, ' + whole(decode.workers) + ' of ' +
      count(decode.gpus, 'GPU') + ' decode. Prompts take ' + percent(prefill.busy, 1) + ' of what the first can do, sequences ' +
      percent(decode.busy, 1) + ' of the others’ cache; a prompt’s ' + bytes(size) + ' of cache move in ' + seconds(transfer) + '.';
  }
  return count(layout.replicas, 'replica') + ' of ' + count(layout.ranks, 'rank') + ' on ' +
    count(layout.nodes_each, 'node') + (layout.nodes_each > 1 ? ', ' + layout.ranks_per_node + ' on each' : '') +
    '; steps of up to ' + whole(layout.chunk) + ' tokens; cache in ' + layout.kv + '.';
}
// The sizes of a layout, for who has not read them before.
function wordsOf(sizes, hasExperts) {
  const words = [];
  if (sizes.tp > 1) words.push('each matrix of attention is cut over ' + sizes.tp + ' GPUs (tp)');
  if (sizes.pp > 1) words.push('layers lie on ' + sizes.pp + ' stages, one after the other (pp)');
  if (sizes.dp > 1) words.push(sizes.dp + ' groups have users and cache of their own (dp)');
  if (hasExperts && sizes.ep > 1) words.push('experts are spread over ' + sizes.ep + ' places (ep)');
  if (hasExperts && sizes.expert_slices > 1) words.push('each expert is cut over ' + sizes.expert_slices + ' GPUs');
  if (words.length === 0) return 'Nothing is split.';
  const text = words.join('; ');
  return text[0].toUpperCase() + text.slice(1) + '.';
}
function drawHead(plan) {
  const q = plan.question;
  const [mood, words] = badgeOf(plan);
  const first = plan.layouts[0];
  const head = el('header', {}, el('div', { class: 'badge ' + mood }, words), el('h1', {}, plan.title),
    el('p', { class: 'lead' }, loadText(q) + '. ' + count(q.nodes, 'node') + ' of up to ' + count(q.gpus_per_node, 'GPU') +
      ', ' + q.engine + ', weights ' + bytes(q.weight_bytes) + ' as ' + q.weights + '.'));
  if (first && first.fits) {
    head.append(el('p', { class: 'answer' }, el('b', { class: 'best' }, first.name), plan.met ? '' : ' comes closest: ' + first.miss + '.'),
      el('p', { class: 'soft' }, splitText(first) + (first.pools ? ' Where they decode: ' : ' ') + wordsOf(first.sizes, plan.question.has_experts)));
    head.append(el('div', { class: 'tiles' }, servedTiles(first, q)));
    if (first.unmeasured.length) {
      head.append(el('p', { class: 'soft small', style: 'margin-top:12px' },
        'Outside what the bands were measured on, and may be further off: ' + first.unmeasured.join('; ') + '.'));
    }
  } else {
    head.append(el('p', { class: 'answer' }, 'N' + plan.verdict.slice(1) + '.' +
      (first ? ' Nearest is ' + first.name + '.' : '')));
    if (first) head.append(el('div', { class: 'tiles' }, unfitTiles(first, q)));
  }
  for (const note of plan.notes) head.append(el('p', { class: 'soft small', style: 'margin-top:12px' }, 'Note: ' + note + '.'));
  return head;
}
