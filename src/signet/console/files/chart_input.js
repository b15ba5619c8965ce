// How people move in a chart: mouse, finger, wheel and keyboard.

const DRAG_PX = 5;
const WHEEL_FACTOR = 0.0015;

/** Listens to the plot of a chart. */
export class ChartInput {
  constructor(chart) {
    this.chart = chart;
    this.start = null;
    const { plot } = chart;
    plot.addEventListener("pointerdown", (event) => this.press(event));
    plot.addEventListener("pointermove", (event) => this.move(event));
    plot.addEventListener("pointerup", (event) => this.release(event));
    plot.addEventListener("pointercancel", () => this.drop());
    plot.addEventListener("pointerleave", (event) => this.leave(event));
    plot.addEventListener("wheel", (event) => this.turn(event), { passive: false });
    plot.addEventListener("keydown", (event) => this.key(event));
  }

  /** Return the x in pixels within the plot, kept between the axes. */
  pixel(event) {
    const { left, right } = this.chart.frame;
    const x = event.clientX - this.chart.plot.getBoundingClientRect().left;
    return Math.min(Math.max(x, left), right);
  }

  press(event) {
    if (!this.chart.frame || event.button !== 0) return;
    if (event.pointerType === "mouse") {
      this.start = this.pixel(event);
      this.chart.plot.setPointerCapture(event.pointerId);
    }
    this.move(event);
  }

  move(event) {
    const { chart } = this;
    if (!chart.frame) return;
    const x = this.pixel(event);
    chart.point(nearest(chart.allStops, chart.frame.x.back(x), chart.ends));
    if (this.start === null) return;
    const isDrag = Math.abs(x - this.start) >= DRAG_PX;
    chart.band.setAttribute("visibility", isDrag ? "visible" : "hidden");
    chart.band.setAttribute("x", Math.min(x, this.start));
    chart.band.setAttribute("width", Math.abs(x - this.start));
    chart.band.setAttribute("height", chart.frame.bottom);
  }

  release(event) {
    const { chart, start } = this;
    this.drop();
    if (start === null || !chart.frame) return;
    const end = this.pixel(event);
    if (Math.abs(end - start) < DRAG_PX) return;
    const [from, to] = [start, end].map(chart.frame.x.back).sort((one, other) => one - other);
    chart.look(from, to);
  }

  drop() {
    this.start = null;
    this.chart.band.setAttribute("visibility", "hidden");
  }

  leave(event) {
    if (event.pointerType === "mouse" && this.start === null) this.chart.hidePoint();
  }

  turn(event) {
    const { chart } = this;
    if (!chart.frame || !(event.ctrlKey || (event.shiftKey && chart.view))) return;
    event.preventDefault();
    const by = event.deltaY || event.deltaX;
    if (event.ctrlKey) chart.zoom(Math.exp(by * WHEEL_FACTOR), chart.frame.x.back(this.pixel(event)));
    else chart.pan(by * WHEEL_FACTOR);
  }

  key(event) {
    this.chart.settle();
    if (event.altKey || event.ctrlKey || event.metaKey || !this.chart.frame) return;
    const act = {
      ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1),
      PageUp: () => this.step(-this.leap()), PageDown: () => this.step(this.leap()),
      Home: () => this.goTo(this.seen()[0]), End: () => this.goTo(this.seen()[1]),
      "+": () => this.chart.zoom(0.5), "=": () => this.chart.zoom(0.5), "-": () => this.chart.zoom(2),
      Escape: () => this.escape(event),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** Forget a drag, else the zoom and the crosshair; where there is nothing of these, others may have the key. */
  escape(event) {
    const { chart } = this;
    if (this.start === null && chart.view === null && Number.isNaN(chart.stop)) return;
    event.stopPropagation();
    if (this.start !== null) return this.drop();
    chart.hidePoint();
    chart.reset();
  }

  /** Return the places of the first and the last point in sight. */
  seen() {
    const stops = this.chart.allStops;
    const [from, to] = this.chart.ends;
    const first = search(stops, from);
    let last = search(stops, to);
    if (!(stops[last] <= to)) last--;
    return [first, Math.max(first, last)];
  }

  /** Return a twentieth of the points in sight. */
  leap() {
    const [first, last] = this.seen();
    return Math.max(1, Math.round((last - first) / 20));
  }

  step(by) {
    const { chart } = this;
    const [first, last] = this.seen();
    if (Number.isNaN(chart.stop)) this.goTo(by > 0 ? first : last);
    else this.goTo(search(chart.allStops, chart.stop) + by);
  }

  /** Put the crosshair on a point; move what is in sight where the point is outside. */
  goTo(at) {
    const { chart } = this;
    const stops = chart.allStops;
    const x = stops[Math.min(Math.max(at, 0), stops.length - 1)];
    const [from, to] = chart.ends;
    if (x < from) chart.look(x, x + to - from);
    else if (x > to) chart.look(x - to + from, x);
    chart.point(x, true);
  }
}

function search(stops, x) {
  let low = 0, high = stops.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (stops[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

function nearest(stops, x, [from, to]) {
  const at = search(stops, x);
  const near = [stops[at - 1], stops[at]].filter((stop) => stop >= from && stop <= to);
  return near.length === 2 ? (x - near[0] < near[1] - x ? near[0] : near[1]) : (near[0] ?? NaN);
}
