// Elements, numbers as people read them, and the one tooltip. Text only ever goes in as text.
const svgSpace = document.getElementById('ink').namespaceURI;

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(key, value === true ? '' : String(value));
  }
  for (const child of (children || []).flat()) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child);
  }
  return node;
}
function el(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}
function svg(name, attributes, ...children) {
  return fill(document.createElementNS(svgSpace, name), attributes, children);
}

// Three digits, thousands with commas.
function digits(value) {
  const size = Math.abs(value);
  const places = size >= 100 || value === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toLocaleString('en-US', { minimumFractionDigits: places, maximumFractionDigits: places });
}
function plain(value) {
  return value.toLocaleString('en-US');
}
function whole(value) {
  return Math.round(value).toLocaleString('en-US');
}
const gib = 2 ** 30;
function bytes(value) {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 1024 * gib) return digits(value / gib / 1024) + ' TiB';
  if (size >= gib / 10) return digits(value / gib) + ' GiB';
  if (size >= 2 ** 20 / 10) return digits(value / 2 ** 20) + ' MiB';
  return digits(value / 1024) + ' KiB';
}
function seconds(value) {
  if (value === 0) return '0 s';
  if (value >= 60) return digits(value / 60) + ' min';
  if (value >= 1) return digits(value) + ' s';
  if (value >= 1e-3) return digits(value * 1e3) + ' ms';
  return digits(value * 1e6) + ' µs';
}
function percent(part, all) {
  const share = all > 0 ? 100 * part / all : 0;
  return share > 0 && share < 1 ? '<1%' : Math.round(share) + '%';
}
function count(number, word) {
  return whole(number) + ' ' + word + (number === 1 ? '' : 's');
}
// Half open: "0–60", "7", "none".
function span([begin, end]) {
  if (end <= begin) return 'none';
  return end - begin === 1 ? String(begin) : begin + '–' + (end - 1);
}
// Both ends within.
function range([first, last]) {
  return first === last ? String(first) : first + '–' + last;
}

// A figure's numbers as a table, closed until somebody asks.
function asTable(caption, columns, rows) {
  const head = el('tr', {}, columns.map((column) =>
    el('th', { scope: 'col', class: column.number ? 'number' : null }, column.name)));
  const body = rows.map((row) => el('tr', {}, row.map((cell, i) =>
    el('td', { class: columns[i].number ? 'number' : 'name' }, cell))));
  return el('details', {}, el('summary', {}, caption + ', as a table'),
    el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
      el('table', {}, el('caption', {}, caption), el('thead', {}, head), el('tbody', {}, body))));
}

const tip = document.getElementById('tip');
function showTip(target, text) {
  tip.textContent = text;
  tip.hidden = false;
  const at = target.getBoundingClientRect();
  const size = tip.getBoundingClientRect();
  const left = Math.min(Math.max(8, at.left + at.width / 2 - size.width / 2), innerWidth - size.width - 8);
  const above = at.top - size.height - 8;
  tip.style.left = Math.max(4, left) + 'px';
  tip.style.top = (above > 4 ? above : at.bottom + 8) + 'px';
}
function hideTip() {
  tip.hidden = true;
}
function withTip(node, text) {
  node.addEventListener('pointerenter', () => showTip(node, text));
  node.addEventListener('pointerleave', hideTip);
  return node;
}
// For what the tab key stops at. Browsers make a stop of any drawing that listens to focus.
function withFocusTip(node, text) {
  node.addEventListener('focus', () => showTip(node, text));
  node.addEventListener('blur', hideTip);
  return withTip(node, text);
}
document.addEventListener('keydown', (event) => { if (event.key === 'Escape') hideTip(); });
document.addEventListener('scroll', hideTip, { passive: true, capture: true });
