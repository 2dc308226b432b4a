// Which run and which times are shown, and the pass that was chosen.
const data = JSON.parse(document.getElementById('data').textContent);
const byId = id => document.getElementById(id);
let chosen = -1;

function explain(run, number) {
  const node = run.nodes[number], why = byId('why');
  why.replaceChildren();
  const line = document.createElement('div');
  line.innerHTML = '<b></b> <span></span>';
  line.querySelector('b').textContent = node.name;
  const needs = node.needs.map(([kind, share]) => `${(share * 100).toFixed(0)} % of ${kind}`).join(', ');
  line.querySelector('span').textContent = `${node.line} ${node.commands.join(', ')}${needs ? '; needs ' + needs : ''}`;
  why.appendChild(line);
  const list = document.createElement('ul');
  for (const sentence of node.why.split(/(?<=\.) (?=[A-Z])/)) list.appendChild(document.createElement('li')).textContent = sentence;
  why.appendChild(list);
}

function choose(number) {
  chosen = number;
  const run = data.runs[byId('run').value];
  for (const each of document.querySelectorAll('.node')) each.classList.toggle('chosen', Number(each.dataset.node) === number);
  for (const each of document.querySelectorAll('path.edge')) each.classList.toggle('chosen', Number(each.dataset.to) === number);
  explain(run, number);
  location.hash = `run=${byId('run').value}&node=${number}&times=${byId('times').value}`;
  report();
}

let drawn = {};
function report() {
  byId('drawn').textContent = JSON.stringify({...drawn, chosen, why: byId('why').textContent});
}

function draw() {
  const run = data.runs[byId('run').value];
  const has = run.nodes.some(node => node.measured);
  byId('times').disabled = !has;
  const measured = has && byId('times').value === 'measured';
  const saved = run.plain ? `, ${bytesText(run.plain)} if nothing shared memory` : '';
  byId('summary').textContent = `policy ${run.policy} on ${run.target}; estimated ${durationText(run.estimated)}` +
      (has ? `, measured ${durationText(run.measured)} (one by one ${durationText(run.serial)})` : '') + `; peak ${bytesText(run.peak)}${saved}` +
      `; ${run.barriers.length} barriers` + (run.leftOut ? `; ${run.leftOut} passes are not shown` : '');
  byId('dot').textContent = run.dot;
  byId('why').textContent = 'Click on a pass.';
  drawn = {run: Number(byId('run').value), measured, graph: drawGraph(run, choose), timeline: drawTimeline(run, measured, choose), memory: drawMemory(run, measured)};
  if (chosen >= 0 && chosen < run.nodes.length) choose(chosen);
  report();
}

byId('title').textContent = data.title;
data.runs.forEach((run, i) => byId('run').add(new Option(`${i + 1} of ${data.runs.length}`, i)));
const wanted = new URLSearchParams(location.hash.slice(1));
if (data.runs[wanted.get('run')]) byId('run').value = wanted.get('run');
byId('times').value = wanted.get('times') === 'estimated' || !data.runs.some(run => run.nodes.some(node => node.measured)) ? 'estimated' : 'measured';
chosen = wanted.has('node') ? Number(wanted.get('node')) : -1;
byId('run').addEventListener('change', () => { chosen = -1; draw(); });
byId('times').addEventListener('change', draw);
if (data.runs.length) draw();
