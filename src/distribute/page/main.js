// Panels, controls, keys; the address says where to begin: #step=12, #step=3&by=time&play.
const machines = DATA.histories.map(history => new Machine(history));
const story = new Story(machines);
const $ = id => document.getElementById(id);
const text = (tag, content, name) => {
  const element = document.createElement(tag);
  element.textContent = content;
  if (name) element.className = name;
  return element;
};

function panelOf(machine) {
  const section = document.createElement('section'), title = document.createElement('h2');
  const name = text('span', machine.policy);
  if (machines.length > 1) name.style.color = lineColour(machines.indexOf(machine));
  title.append(name, text('small', `${machine.machine}: ${machine.sms} SMs in ${machine.gpc.length} GPCs`));
  const figures = text('small', '');
  title.append(figures);
  const what = text('div', '', 'what'), canvas = document.createElement('canvas'), candidates = text('div', '', 'candidates'), legend = text('div', '', 'legend');
  canvas.setAttribute('aria-label', `SM slots under ${machine.policy}`);
  section.append(title, what, canvas, candidates, legend);
  $('panels').append(section);
  return {machine, section, figures, what, candidates, legend, picture: new Picture(machine, canvas)};
}

function subject(machine, step) {
  const grid = machine.grids[step.g], cluster = grid.clusterCtas > 1 ? `, cluster ${step.c}` : '';
  const last = step.f + step.ctas.length - 1;
  const ctas = !['launch', 'suspend', 'resume'].includes(step.k) || !step.ctas.length ? '' : step.ctas.length === 1 ? `, CTA ${step.f}` : `, CTAs ${step.f} to ${last}`;
  return grid.name + cluster + ctas;
}

function describe({machine, what}) {
  const step = machine.step();
  what.replaceChildren();
  if (!step) return what.append('Nothing has been launched yet.');
  const choice = step.k === 'launch' && !step.cells.length;
  const verbs = {launch: choice ? 'choose' : 'launch', fail: 'fail', stall: 'stall', complete: 'ended', cluster_complete: 'cluster complete', evict: 'evict', suspend: 'suspended', resume: 'resumed'};
  what.append(text('b', verbs[step.k], step.k), ` ${subject(machine, step)}`);
  if (step.l) what.append(`; choice at nesting level ${step.l}`);
  if (step.r) what.append(`; round ${step.r}`);
  if (step.k === 'complete' && step.ctas.length > 1) what.append(`: ${step.ctas.length} CTAs`);
  if (step.k === 'fail') what.append(': it fits nowhere whole; nothing of it was launched, no trace is left');
  if (step.k === 'evict') what.append(': it launches no more until it has another slot');
  if (step.k === 'suspend') what.append(': it waits for children');
  if (step.k === 'stall') what.append(': it fits, but no cluster id or cluster memory is free');
}

function showCandidates({machine, candidates}) {
  const step = machine.step(), list = step ? step.candidates : [];
  const most = Math.max(1, ...list.map(candidate => candidate[2]));
  candidates.replaceChildren(...list.map(([level, domain, speed, load, chosen]) => {
    const element = text('div', '', 'candidate' + (chosen ? ' chosen' : '') + (speed < 0 ? ' fail' : ''));
    const bar = document.createElement('i');
    bar.style.height = `${speed < 0 ? 2 : 2 + speed / most * 34}px`;
    element.append(text('b', speed < 0 ? 'fail' : speed), bar, `${LEVELS[level]} ${domain}`);
    element.title = `${LEVELS[level]} ${domain}: ${speed < 0 ? 'fail' : 'speed ' + speed}, ${load} CTAs resident${chosen ? ', chosen' : ''}`;
    return element;
  }));
  if (!list.length) candidates.append(text('span', step && step.k === 'launch' ? 'No domain to choose: the SMs were asked themselves.' : '', 'candidate-none'));
}

function showLegend({machine, legend}) {
  const known = machine.grids.map((grid, number) => ({grid, number, ...machine.counts[number]}));
  const shown = known.filter(entry => entry.resident > 0).concat(known.filter(entry => entry.resident === 0 && entry.launched > 0)).slice(0, 14);
  legend.replaceChildren(...shown.map(({grid, number, resident, launched}) => {
    const element = document.createElement('span'), mark = document.createElement('i');
    mark.style.background = colourOf({grid: number, cluster: null});
    element.append(mark, `${grid.name} (${grid.kind}): ${resident} resident, ${launched} of ${grid.ctas} launched`);
    return element;
  }));
}

const panels = machines.map(panelOf);
let glow = 0, playing = null;

function draw() {
  const drawn = panels.map(panel => panel.picture.draw(glow));
  $('drawn').textContent = JSON.stringify({position: story.position, length: story.length(), by: story.by, playing: playing !== null, machines: drawn});
}

function show() {
  for (const panel of panels) {
    describe(panel), showCandidates(panel), showLegend(panel);
    const left = panel.machine.leftOut ? `, ${panel.machine.leftOut} more are not shown` : '';
    panel.figures.textContent = `decision ${panel.machine.at} of ${panel.machine.steps.length}${left}; ${panel.machine.resident[panel.machine.at]} CTAs resident`;
  }
  $('slider').max = story.length();
  $('slider').value = story.position;
  const time = Math.max(...machines.map(machine => machine.time()));
  $('position').textContent = `${story.by === 'time' ? 'moment' : 'step'} ${story.position} of ${story.length()}, time ${time} ${DATA.unit}`;
  drawStrip($('strip'), story);
  draw();
}

function go(position) {
  story.go(position);
  if (!matchMedia('(prefers-reduced-motion: reduce)').matches) flash();
  show();
}

function flash() {
  const begin = performance.now(), run = now => {
    glow = Math.max(0, 1 - (now - begin) / 260);
    draw();
    if (glow > 0) requestAnimationFrame(run);
  };
  requestAnimationFrame(run);
}

function pause() {
  clearInterval(playing);
  playing = null;
  $('play').textContent = '\u25B6\uFE0E play';
}

function play() {
  if (playing !== null) return pause();
  if (story.position >= story.length()) go(0);
  const speed = Number($('speed').value), stride = Math.max(1, Math.round(speed / 30));
  playing = setInterval(() => {
    go(story.position + stride);
    if (story.position >= story.length()) pause(), draw();
  }, 1000 * stride / speed);
  $('play').textContent = '\u23F8\uFE0E pause';
  draw();
}

function changeSpeed(by) {
  const list = $('speed'), wasPlaying = playing !== null;
  list.selectedIndex = Math.max(0, Math.min(list.length - 1, list.selectedIndex + by));
  if (wasPlaying) pause(), play();
}

function changeColour(value) {
  $('colour').value = colourBy = value;
  show();
}

function key(event) {
  if (event.target.tagName === 'SELECT') return;
  const stride = event.shiftKey ? 10 : 1;
  const actions = {ArrowRight: () => go(story.position + stride), ArrowLeft: () => go(story.position - stride), Home: () => go(0), End: () => go(story.length()), ' ': play,
                   '+': () => changeSpeed(1), '-': () => changeSpeed(-1), c: () => changeColour(colourBy === 'grid' ? 'cluster' : 'grid')};
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
}

function showTip(panel, event) {
  const box = event.target.getBoundingClientRect(), found = panel.picture.under(event.clientX - box.left, event.clientY - box.top), tip = $('tip');
  tip.hidden = !found;
  if (!found) return;
  const {sm, cta} = found, grid = cta && panel.machine.grids[cta.grid];
  tip.textContent = `SM ${sm}` + (cta ? `\n${grid.name}, CTA ${cta.cta}${cta.cluster === null ? '' : `, cluster ${cta.cluster}`}\nsince ${cta.since} ${DATA.unit}` : ': free slot');
  tip.style.left = `${Math.min(event.clientX + 14, innerWidth - 220)}px`;
  tip.style.top = `${event.clientY + 12}px`;
}

function begin() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (wanted.has('by')) story.moveBy(wanted.get('by') === 'time' ? 'time' : 'step');
  $('by').value = story.by;
  if (wanted.has('colour')) colourBy = $('colour').value = wanted.get('colour') === 'cluster' ? 'cluster' : 'grid';
  pause();
  go(Number(wanted.get('step') || 0));
  if (wanted.has('speed')) $('speed').value = wanted.get('speed');
  if (wanted.has('play')) play();
}

$('title').textContent = DATA.title;
$('subtitle').textContent = 'Which SM runs which CTA, decision by decision.';
$('first').onclick = () => go(0);
$('back').onclick = () => go(story.position - 1);
$('next').onclick = () => go(story.position + 1);
$('last').onclick = () => go(story.length());
$('play').onclick = play;
$('slider').oninput = event => go(Number(event.target.value));
$('speed').onchange = () => changeSpeed(0);
$('by').onchange = event => (story.moveBy(event.target.value), show());
$('colour').onchange = event => changeColour(event.target.value);
$('strip').onclick = event => go(event.offsetX / $('strip').clientWidth * story.length());
for (const panel of panels) {
  panel.picture.canvas.onmousemove = event => showTip(panel, event);
  panel.picture.canvas.onmouseleave = () => { $('tip').hidden = true; };
}
addEventListener('keydown', key);
addEventListener('hashchange', begin);
addEventListener('resize', () => { for (const panel of panels) panel.picture.resize(); show(); });
begin();
