// What a user gets against what a GPU gives: every layout and load that was replayed, and those
// that no other beats in both.
function niceStep(most) {
  const rough = most / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 2.5, 5, 10].map((times) => times * power).find((step) => step >= rough);
}
function pointOf(plan, row) {
  const [name, inFlight, perUser, perGpu, ttft, tpot, onFront, keeps] = row;
  return { name: plan.points.names[name], inFlight, perUser, perGpu, ttft, tpot, onFront: onFront === 1, keeps: keeps === 1 };
}
function pointText(point) {
  return point.name + '\n' + count(point.inFlight, 'request') + ' in flight\n' + digits(point.perUser) + ' tokens/s a user, ' + digits(point.perGpu) +
    ' a GPU\nTTFT ' + seconds(point.ttft) + ', TPOT ' + seconds(point.tpot) + (point.keeps ? '' : '\nmisses the limits');
}
function axes(plot, frame, mostX, mostY, x, y) {
  const text = (attributes, words) => plot.append(svg('text', attributes, words));
  const stepX = niceStep(mostX), stepY = niceStep(mostY);
  for (let at = 0; at <= mostX * 1.0001; at += stepX) {
    plot.append(svg('line', { class: 'grid', x1: x(at), x2: x(at), y1: frame.top, y2: frame.bottom }));
    text({ x: x(at), y: frame.bottom + 20, 'text-anchor': 'middle' }, plain(at));
  }
  for (let at = 0; at <= mostY * 1.0001; at += stepY) {
    plot.append(svg('line', { class: 'grid', x1: frame.left, x2: frame.right, y1: y(at), y2: y(at) }));
    text({ x: frame.left - 8, y: y(at) + 4, 'text-anchor': 'end' }, plain(at));
  }
  plot.append(svg('line', { class: 'axis', x1: frame.left, x2: frame.right, y1: frame.bottom, y2: frame.bottom }));
  text({ class: 'title', x: frame.right, y: frame.bottom + 42, 'text-anchor': 'end' }, 'tokens/s that one user sees →');
  text({ class: 'title', x: 0, y: 14 }, '↑ tokens/s that one GPU gives');
}
// One stop of the tab key; arrows walk along the front.
function walkable(nodes) {
  nodes.forEach((node, i) => {
    node.setAttribute('tabindex', i === 0 ? 0 : -1);
    node.addEventListener('keydown', (event) => {
      const to = { ArrowRight: i + 1, ArrowUp: i - 1, ArrowLeft: i - 1, ArrowDown: i + 1, Home: 0, End: nodes.length - 1 }[event.key];
      if (to === undefined || !nodes[to]) return;
      event.preventDefault();
      node.setAttribute('tabindex', -1);
      nodes[to].setAttribute('tabindex', 0);
      nodes[to].focus();
    });
  });
}
function plotOf(plan, points, width) {
  const height = Math.round(Math.min(460, Math.max(300, width * 0.5)));
  const frame = { left: 58, right: width - 16, top: 30, bottom: height - 50 };
  const limit = plan.question.tpot_limit_s > 0 ? 1 / plan.question.tpot_limit_s : 0;
  const mostX = Math.max(...points.map((point) => point.perUser), limit) * 1.04;
  const mostY = Math.max(...points.map((point) => point.perGpu)) * 1.06;
  const x = (value) => frame.left + (frame.right - frame.left) * value / mostX;
  const y = (value) => frame.bottom - (frame.bottom - frame.top) * value / mostY;
  const plot = svg('svg', { class: 'plot', viewBox: '0 0 ' + width + ' ' + height, role: 'group',
    'aria-label': 'Plot of tokens per second of a GPU over those of a user. Arrow keys walk along the front.' });
  axes(plot, frame, mostX, mostY, x, y);
  if (limit > 0) {
    plot.append(svg('line', { class: 'limit', x1: x(limit), x2: x(limit), y1: frame.top, y2: frame.bottom }),
      svg('text', { class: 'limit-name', x: x(limit) + 6, y: frame.top + 12 }, 'TPOT limit ' + seconds(plan.question.tpot_limit_s)));
  }
  const front = points.filter((point) => point.onFront).sort((a, b) => a.perUser - b.perUser);
  plot.append(svg('polyline', { class: 'front-line', points: front.map((point) => x(point.perUser) + ',' + y(point.perGpu)).join(' ') }));
  const drawn = (point, tip) => tip(svg('circle', { class: 'point' + (point.onFront ? ' on-front' : '') + (point.keeps ? '' : ' misses'), cx: x(point.perUser),
    cy: y(point.perGpu), r: point.onFront ? 6 : 3.5, role: 'img', 'aria-label': pointText(point).replaceAll('\n', ', ') }), pointText(point));
  plot.append(...points.filter((point) => !point.onFront).map((point) => drawn(point, withTip)));
  const stops = front.map((point) => drawn(point, withFocusTip));
  plot.append(...stops);
  walkable(stops);
  const best = plan.layouts[0];
  if (best && best.fits) {
    const at = { x: x(best.per_user), y: y(best.per_gpu) };
    const left = at.x > frame.right - 150;
    plot.append(withTip(svg('path', { class: 'chosen', d: `M${at.x} ${at.y - 9}L${at.x + 9} ${at.y}L${at.x} ${at.y + 9}L${at.x - 9} ${at.y}Z` }),
      best.name + '\n' + digits(best.per_user) + ' tokens/s a user, ' + digits(best.per_gpu) + ' a GPU'),
    svg('text', { class: 'chosen-name', x: at.x + (left ? -14 : 14), y: at.y - 10, 'text-anchor': left ? 'end' : 'start' }, plan.met ? 'the plan, at this load' : 'closest, at this load'));
  }
  return plot;
}
function drawPareto(plan) {
  const points = plan.points.rows.map((row) => pointOf(plan, row));
  // Answers of a single token have no speed that a user sees.
  if (!points.some((point) => point.perUser > 0 && point.perGpu > 0)) return null;
  const place = el('div', { class: 'figure' });
  let drawnAt = 0;
  const draw = () => {
    const width = Math.round(place.clientWidth) || 1000;
    if (width === drawnAt) return;
    drawnAt = width;
    place.replaceChildren(plotOf(plan, points, width));
  };
  new ResizeObserver(draw).observe(place);
  const front = points.filter((point) => point.onFront).sort((a, b) => b.perUser - a.perUser);
  const columns = [{ name: 'Replicas × layout' }, { name: 'requests in flight', number: true }, { name: 'tokens/s a user', number: true },
    { name: 'tokens/s a GPU', number: true }, { name: 'TTFT', number: true }, { name: 'TPOT', number: true }];
  const rows = front.map((point) => [point.name, whole(point.inFlight), digits(point.perUser), digits(point.perGpu), seconds(point.ttft), seconds(point.tpot)]);
  const limited = points.some((point) => !point.keeps);
  return el('section', {}, el('h2', {}, 'Fast for a user, or cheap for you'),
    el('p', { class: 'lead' }, whole(points.length) + ' layouts and loads' + (plan.points.left_out > 0 ? ' (of ' + whole(points.length + plan.points.left_out) + ')' : '') +
      ', from one request to a full cache. On the line are the ' + front.length + ' that no other beats in both' + (limited ? '; hollow ones miss the limits' : '') +
      '. Point at one, or walk along the line by arrow keys.'),
    place, asTable('The line from fastest to cheapest', columns, rows));
}
