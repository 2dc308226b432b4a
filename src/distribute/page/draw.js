// Drawing a machine into a canvas: GPCs side by side, CPCs inside them, an SM as a column whose slots fill from the bottom.
const theme = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
let colourBy = 'grid';

function colourOf(cta) {
  const hue = (205 + cta.grid * 137.5) % 360;
  if (colourBy === 'cluster' && cta.cluster !== null) return `hsl(${(hue + cta.cluster * 67) % 360} 65% ${48 + cta.cluster % 3 * 8}%)`;
  return cta.cluster === null ? `hsl(${hue} 62% 52%)` : `hsl(${hue} ${52 + cta.cluster % 3 * 12}% ${42 + cta.cluster % 4 * 8}%)`;
}

class Picture {
  constructor(machine, canvas) {
    this.machine = machine;
    this.canvas = canvas;
    this.resize();
  }

  // As many GPCs side by side as leave readable columns.
  resize() {
    const machine = this.machine, width = this.canvas.parentElement.clientWidth - 26;
    const widest = Math.max(...machine.gpc), pad = 10;
    let perLine = machine.gpc.length;
    const column = line => Math.floor((width - line * (pad + 8)) / (line * widest));
    while (perLine > 1 && column(perLine) < 15) --perLine;
    const lines = Math.ceil(machine.gpc.length / perLine);
    perLine = Math.ceil(machine.gpc.length / lines);  // lines of equal length
    const cell = Math.max(7, Math.min(34, column(perLine)));
    const row = Math.max(5, Math.min(26, Math.floor(300 / lines / machine.rows)));
    this.head = machine.cpc.length > machine.gpc.length ? 36 : 22;  // above the slots: names and speeds
    this.geometry = {perLine, cell, row, pad, boxWidth: widest * cell + pad, boxHeight: machine.rows * row + this.head + 22};
    const height = lines * (this.geometry.boxHeight + 8), scale = window.devicePixelRatio || 1;
    this.canvas.width = width * scale;
    this.canvas.height = height * scale;
    this.canvas.style.height = height + 'px';
    this.context = this.canvas.getContext('2d');
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.size = {width, height};
    this.place();
  }

  place() {
    const {perLine, cell, pad, boxWidth, boxHeight} = this.geometry;
    this.boxes = [];
    this.columns = [];  // by SM
    let sm = 0;
    this.machine.gpc.forEach((count, gpc) => {
      const x = (gpc % perLine) * (boxWidth + 8), y = Math.floor(gpc / perLine) * (boxHeight + 8);
      this.boxes.push({x, y, width: count * cell + pad, first: sm});
      for (let i = 0; i < count; ++i, ++sm) this.columns.push({x: x + pad / 2 + i * cell, bottom: y + boxHeight - 20});
    });
  }

  // @returns what was drawn, for those who check
  draw(glow) {
    const context = this.context, step = this.machine.step();
    const drawn = {policy: this.machine.policy, time: this.machine.time(), at: this.machine.at, cells: 0, sms: 0, fresh: 0, badges: 0,
                   cellPixels: this.geometry.cell * this.geometry.row, kind: step ? step.k : ''};
    context.clearRect(0, 0, this.size.width, this.size.height);
    this.boxes.forEach((box, gpc) => this.drawGpc(box, gpc, step, drawn));
    this.columns.forEach((column, sm) => this.drawSm(column, sm, step, drawn));
    if (step) this.drawFresh(step, glow, drawn);
    return drawn;
  }

  drawGpc(box, gpc, step, drawn) {
    const context = this.context;
    context.fillStyle = theme('box');
    context.strokeStyle = theme('line');
    context.lineWidth = 1;
    const answer = step && step.candidates.find(candidate => LEVELS[candidate[0]] === 'gpc' && candidate[1] === gpc);
    if (answer && answer[4]) { context.strokeStyle = theme('chosen'); context.lineWidth = 2.5; }
    context.beginPath();
    context.roundRect(box.x + 1, box.y + 1, box.width - 2, this.geometry.boxHeight - 2, 6);
    context.fill();
    context.stroke();
    context.font = '11px system-ui, sans-serif';
    context.fillStyle = theme('dim');
    context.textAlign = 'left';
    context.fillText(`GPC ${gpc}`, box.x + 7, box.y + 14);
    if (answer) this.badge(box.x + box.width - 6, box.y + 14, answer, drawn, box.width);
    this.drawCpcs(box, gpc, step, drawn);
  }

  drawCpcs(box, gpc, step, drawn) {
    let first = 0;
    this.machine.cpc.forEach((count, cpc) => {
      const from = first;
      first += count;
      if (from < box.first || from >= box.first + this.machine.gpc[gpc] || count === this.machine.gpc[gpc]) return;
      const left = this.columns[from].x - 1, right = this.columns[from + count - 1].x + this.geometry.cell;
      const top = box.y + this.head - 3, answer = step && step.candidates.find(candidate => LEVELS[candidate[0]] === 'cpc' && candidate[1] === cpc);
      this.context.strokeStyle = answer && answer[4] ? theme('chosen') : theme('line');
      this.context.lineWidth = answer && answer[4] ? 2 : 1;
      this.context.strokeRect(left + 1, top, right - left - 2, this.geometry.boxHeight - this.head - 3);
      if (answer) this.badge(right - 3, top - 4, answer, drawn, right - left);
    });
  }

  badge(right, baseline, answer, drawn, width) {
    this.context.textAlign = 'right';
    this.context.font = 'bold 11px system-ui, sans-serif';
    this.context.fillStyle = answer[2] < 0 ? theme('fail') : answer[4] ? theme('chosen') : theme('water');
    this.context.fillText(answer[2] < 0 ? 'fail' : width < 56 ? answer[2] : `speed ${answer[2]}`, right, baseline);
    ++drawn.badges;
  }

  cellAt(sm, row) {
    const {cell, row: height} = this.geometry, column = this.columns[sm];
    return [column.x + 1, column.bottom - (row + 1) * height, cell - 2, height - 1];
  }

  drawSm(column, sm, step, drawn) {
    const context = this.context, slots = this.machine.slots[sm];
    let free = step && step.free ? parseInt(step.free[sm], 36) : this.machine.rows;
    for (let row = 0; row < this.machine.rows; ++row) {
      const cta = slots[row];
      if (cta) ++drawn.cells;
      context.fillStyle = cta ? colourOf(cta) : free-- > 0 ? theme('slot') : theme('closed');
      context.fillRect(...this.cellAt(sm, row));
    }
    ++drawn.sms;
    if (this.geometry.cell < 13 && sm % 2) return;
    context.font = '9px system-ui, sans-serif';
    context.textAlign = 'center';
    context.fillStyle = theme('dim');
    context.fillText(sm, column.x + this.geometry.cell / 2, column.bottom + 11);
  }

  drawFresh(step, glow, drawn) {
    const context = this.context;
    const last = ['launch', 'complete', 'suspend', 'resume'].includes(step.k) ? step.ctas : [];
    context.strokeStyle = theme('fresh');
    context.setLineDash(step.k === 'launch' ? [] : [2, 2]);
    for (const cta of last) {
      const [x, y, width, height] = this.cellAt(cta.sm, cta.row);
      context.globalAlpha = 1;
      context.lineWidth = 1.5;
      context.strokeRect(x + .5, y + .5, width - 1, height - 1);
      context.globalAlpha = glow * .8;
      context.fillStyle = theme('fresh');
      if (step.k === 'launch' && glow > 0) context.fillRect(x, y, width, height);
      ++drawn.fresh;
    }
    context.globalAlpha = 1;
    context.setLineDash([]);
  }

  // The CTA or SM under a point of the canvas.
  under(x, y) {
    const {cell, row} = this.geometry;
    const sm = this.columns.findIndex(column => x >= column.x && x < column.x + cell && y <= column.bottom && y > column.bottom - row * this.machine.rows);
    return sm < 0 ? null : {sm, cta: this.machine.slots[sm][Math.floor((this.columns[sm].bottom - y) / row)] || null};
  }
}

// Of a machine's line in the strip, and of its name.
function lineColour(number) {
  return `hsl(${(205 + number * 97) % 360} 65% 55%)`;
}

// Resident CTAs over the whole story, a line per machine, and where we are.
function drawStrip(canvas, story) {
  const scale = window.devicePixelRatio || 1, width = canvas.clientWidth, height = 64;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  const most = Math.max(1, ...story.machines.map(machine => machine.resident.reduce((a, b) => Math.max(a, b), 0)));
  const length = Math.max(1, story.length());
  story.machines.forEach((machine, number) => {
    context.strokeStyle = lineColour(number);
    context.beginPath();
    for (let x = 0; x <= width; ++x) {
      const at = Math.min(machine.steps.length, story.stepsOf(machine, Math.round(x / width * length)));
      context.lineTo(x, height - 4 - machine.resident[at] / most * (height - 10));
    }
    context.stroke();
  });
  context.strokeStyle = theme('chosen');
  context.beginPath();
  context.moveTo(story.position / length * width, 0);
  context.lineTo(story.position / length * width, height);
  context.stroke();
}
