// Drawing a schedule as SVG: passes by depth, bars over time, memory as a map of bytes over time.
const SPACE = 'http://www.w3.org/2000/svg';
function shape(parent, kind, attributes, text) {
  const made = document.createElementNS(SPACE, kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  parent.appendChild(made);
  return made;
}
function cleared(id, width, height) {
  const svg = document.getElementById(id);
  svg.replaceChildren();
  svg.setAttribute('width', width);
  svg.setAttribute('height', height);
  return svg;
}
function durationText(nanoseconds) {
  if (nanoseconds >= 1e6) return (nanoseconds / 1e6).toFixed(2) + ' ms';
  return nanoseconds >= 1e3 ? (nanoseconds / 1e3).toFixed(1) + ' us' : nanoseconds.toFixed(0) + ' ns';
}
function bytesText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let unit = 0;
  while (bytes >= 1024 && unit < 3) bytes /= 1024, ++unit;
  return (unit ? bytes.toFixed(1) : bytes) + ' ' + units[unit];
}
const hue = number => (205 + number * 137.5) % 360;
// What fits, at seven pixels a letter.
const fitted = (text, width) => text.length * 7 > width - 8 ? text.slice(0, Math.max(0, Math.floor((width - 14) / 7))) : text;

function box(svg, run, number, x, y, width, height, choose) {
  const node = run.nodes[number];
  const group = shape(svg, 'g', {class: 'node ' + node.kind, 'data-node': number});
  shape(group, 'rect', {x, y, width, height, rx: 4});
  shape(group, 'title', {}, node.name);
  const label = fitted(node.name, width);
  if (label) shape(group, 'text', {x: x + 5, y: y + height / 2 + 4}, label);
  group.addEventListener('click', () => choose(number));
}

// A node stands one column behind the last that it depends on.
function drawGraph(run, choose) {
  const depth = [], rows = [], place = [];
  const needed = run.nodes.map(() => []);
  for (const [from, to, , real] of run.edges) if (real) needed[to].push(from);
  run.nodes.forEach((node, i) => {
    depth[i] = Math.max(-1, ...needed[i].map(from => depth[from])) + 1;
    rows[depth[i]] = (rows[depth[i]] ?? 0) + 1;
    place[i] = rows[depth[i]] - 1;
  });
  const width = 130, height = 26, svg = cleared('graph', rows.length * (width + 50) + 10, Math.max(0, ...rows) * (height + 14) + 20);
  const x = i => 5 + depth[i] * (width + 50), y = i => 8 + place[i] * (height + 14);
  for (const [from, to, reason, real] of run.edges) {
    const x1 = x(from) + (real || x(to) > x(from) ? width : width / 2), y1 = y(from) + height / 2, x2 = x(to), y2 = y(to) + height / 2, bend = 25;
    const path = shape(svg, 'path', {class: real ? 'edge' : 'edge extra', d: `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`,
                                     'data-from': from, 'data-to': to});
    shape(path, 'title', {}, `${run.nodes[from].name} before ${run.nodes[to].name}: ${reason}`);
  }
  run.nodes.forEach((node, i) => box(svg, run, i, x(i), y(i), width, height, choose));
  return {nodes: run.nodes.length, edges: run.edges.length, columns: rows.length};
}

const timesOf = (node, measured) => measured && node.measured ? node.measured : [node.begin, node.end];
function scaleOf(run, measured) {
  const end = Math.max(1, ...run.nodes.map(node => timesOf(node, measured)[1]));
  const width = Math.max(600, document.body.clientWidth - 150);
  return {end, width, x: time => 5 + time / end * width};
}
function axis(svg, scale, y) {
  for (let i = 0; i <= 5; ++i) {
    const time = scale.end * i / 5;
    shape(svg, 'line', {x1: scale.x(time), x2: scale.x(time), y1: 0, y2: y});
    shape(svg, 'text', {class: 'axis', x: scale.x(time) + 2, y: y + 12}, durationText(time));
  }
}

// Bars in as many lanes as run at once.
function drawTimeline(run, measured, choose) {
  const scale = scaleOf(run, measured), lanes = [], lane = [];
  const order = run.nodes.map((node, i) => i).sort((a, b) => timesOf(run.nodes[a], measured)[0] - timesOf(run.nodes[b], measured)[0]);
  for (const i of order) {
    const [begin, end] = timesOf(run.nodes[i], measured);
    let at = lanes.findIndex(until => until <= begin + scale.end * 1e-9);
    if (at < 0) at = lanes.length;
    lanes[at] = end;
    lane[i] = at;
  }
  const svg = cleared('timeline', scale.width + 70, lanes.length * 28 + 26);
  axis(svg, scale, lanes.length * 28 + 6);
  for (const i of order) {
    const [begin, end] = timesOf(run.nodes[i], measured);
    box(svg, run, i, scale.x(begin), 4 + lane[i] * 28, Math.max(2, scale.x(end) - scale.x(begin)), 22, choose);
  }
  return {lanes: lanes.length, bars: order.length};
}

function drawMemory(run, measured) {
  const scale = scaleOf(run, measured), height = 220, peak = Math.max(1, run.peak);
  const svg = cleared('memory', scale.width + 70, height + 26);
  axis(svg, scale, height + 4);
  run.memory.forEach((part, i) => {
    const begin = timesOf(run.nodes[part.first], measured)[0], end = timesOf(run.nodes[part.last], measured)[1];
    const top = height - (part.offset + part.bytes) / peak * height, tall = part.bytes / peak * height;
    const width = Math.max(2, scale.x(end) - scale.x(begin));
    const rect = shape(svg, 'rect', {class: 'live', x: scale.x(begin), y: top, width, height: Math.max(1, tall), fill: `hsl(${hue(i)} 55% 50% / .75)`});
    shape(rect, 'title', {}, `${part.name}: ${bytesText(part.bytes)} at ${part.offset}`);
    if (tall > 12) shape(svg, 'text', {x: scale.x(begin) + 4, y: top + Math.min(tall / 2 + 4, 14)}, fitted(part.name, width));
  });
  return {parts: run.memory.length};
}
