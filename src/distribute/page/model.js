// What is shown: histories as the page's data has them, and the machine at a step. Every step knows the CTAs that it starts or ends, so
// that it can be done and undone.
'use strict';
const DATA = JSON.parse(document.getElementById('data').textContent);
const fills = step => step.k === 'launch' || step.k === 'resume';  // CTAs come to their SMs
const LEVELS = ['set', 'gpu', 'ugpu', 'gpc', 'cpc', 'tpc', 'sm'];

class Machine {
  constructor(history) {
    Object.assign(this, history);
    this.sms = this.gpc.reduce((sum, count) => sum + count, 0);
    this.slots = Array.from({length: this.sms}, () => new Array(this.rows).fill(null));
    this.counts = this.grids.map(() => ({resident: 0, launched: 0}));
    this.at = 0;  // steps done
    this.resident = [0];
    for (const step of this.steps) this.prepare(step);
    this.rewind();
  }

  // Turns the numbers of a step into CTAs, which know where and when they are.
  prepare(step) {
    step.ctas = [];
    for (let i = 0; i < step.cells.length; i += 3) {
      const [sm, row, cta] = step.cells.slice(i, i + 3);
      const size = this.grids[step.g].clusterCtas;
      step.ctas.push(fills(step) ? {sm, row, cta, grid: step.g, cluster: size > 1 ? Math.floor(cta / size) : null, since: step.t}
                                         : this.slots[sm][row]);
    }
    this.at += 1;
    this.apply(step, true);
    this.resident.push(this.resident.at(-1) + (fills(step) ? step.ctas.length : -step.ctas.length));
  }

  apply(step, forward) {
    const starts = fills(step) === forward;
    for (const cta of step.ctas) {
      this.slots[cta.sm][cta.row] = starts ? cta : null;
      this.counts[cta.grid].resident += starts ? 1 : -1;
      if (step.k === 'launch') this.counts[cta.grid].launched += forward ? 1 : -1;
    }
  }

  rewind() {
    while (this.at > 0) this.apply(this.steps[--this.at], false);
  }

  go(position) {
    const goal = Math.max(0, Math.min(position, this.steps.length));
    while (this.at < goal) this.apply(this.steps[this.at++], true);
    while (this.at > goal) this.apply(this.steps[--this.at], false);
  }

  step() { return this.at > 0 ? this.steps[this.at - 1] : null; }
  time() { return this.at > 0 ? this.steps[this.at - 1].t : this.steps.length ? this.steps[0].t : 0; }

  // How many steps are done when it is so late.
  stepsUntil(time) {
    let low = 0, high = this.steps.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.steps[middle].t <= time) low = middle + 1; else high = middle;
    }
    return low;
  }
}

// Where the page is: a number of steps, or of moments at which something happens in any of the machines.
class Story {
  constructor(machines) {
    this.machines = machines;
    this.moments = [...new Set(machines.flatMap(machine => machine.steps.map(step => step.t)))].sort((a, b) => a - b);
    this.most = Math.max(...machines.map(machine => machine.steps.length));
    this.by = machines.length > 1 ? 'time' : 'step';
    this.position = 0;
  }
  length() { return this.by === 'time' ? this.moments.length : this.most; }
  go(position) {
    this.position = Math.max(0, Math.min(Math.round(position) || 0, this.length()));
    for (const machine of this.machines) machine.go(this.stepsOf(machine, this.position));
  }
  stepsOf(machine, position) {
    if (this.by === 'step') return position;
    return position === 0 ? 0 : machine.stepsUntil(this.moments[position - 1]);
  }
  moveBy(by) {
    const before = this.position === 0 ? 0 : Math.max(...this.machines.map(machine => machine.at && machine.time()));
    const steps = Math.max(...this.machines.map(machine => machine.at));
    this.by = by;
    let position = by === 'step' ? steps : this.moments.findIndex(moment => moment >= before) + 1;
    if (steps === 0) position = 0;
    this.go(position);
  }
}
