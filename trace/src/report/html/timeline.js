// The time line: a lane for each thread, how busy it was above, its longest calls below; callers above their callees.
const axis = { canvas: null, holder: null, from: 0, to: 1, head: 190, strip: 22, row: 15, lanes: [], hover: -1, drag: null };

function timelinePanel() {
  const line = data.time_line;
  axis.lanes = line.lanes.map((lane) => ({ ...lane, calls: [], rows: 0, top: 0 }));
  for (let call = 0; call < line.lane.length; call++) axis.lanes[line.lane[call]].calls.push(call);
  for (const lane of axis.lanes) arrange(lane, line);
  axis.canvas = make("canvas", { tabindex: 0, role: "img", "aria-label": "Time line: arrow keys move and zoom" });
  axis.holder = make("div", { id: "timeline" }, axis.canvas);
  axis.info = make("span", { class: "faint", id: "timeline-range" });
  whole();
  const on = (name, listener) => axis.canvas.addEventListener(name, listener, { passive: false });
  on("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    zoomAxis(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event));
  });
  on("mousedown", (event) => { axis.drag = { x: event.clientX, from: axis.from, moved: false }; });
  addEventListener("mouseup", () => { setTimeout(() => { axis.drag = null; }); });
  on("mousemove", (event) => {
    if (axis.drag && event.buttons) {
      const shift = (axis.drag.x - event.clientX) * (axis.to - axis.from) / plotWidth();
      axis.drag.moved ||= Math.abs(axis.drag.x - event.clientX) > 3;
      panTo(axis.drag.from + shift);
    } else hoverCall(callAt(event), event);
  });
  on("mouseleave", () => hoverCall(-1));
  on("click", (event) => {
    const call = callAt(event);
    if (call >= 0 && !axis.drag?.moved) openMethod(line.frame[call]);
  });
  on("dblclick", (event) => zoomAxis(0.25, timeAt(event)));
  on("keydown", axisKey);
  new ResizeObserver(drawTimeline).observe(axis.holder);
  const button = (title, action) => make("button", { onclick: action }, title);
  const hint = `Drag to move, Ctrl + wheel or + and − to zoom. Bars: time in calls; boxes: the ${count(line.lane.length)} longest calls`;
  return make("div", { class: "panel" }, make("div", { class: "tools" },
    button("+", () => zoomAxis(0.5)), button("−", () => zoomAxis(2)), button("All", whole), axis.info, make("span", { class: "faint" }, hint)), axis.holder);
}

// Rows of the boxes: their depth; calls of virtual threads, which overlap, take the first free row.
function arrange(lane, line) {
  lane.row = new Map();
  const ends = [];
  let latest = -1;
  for (const call of lane.calls) {
    let row = line.depth[call];
    if (row === 0 && line.start[call] < latest) {
      row = ends.findIndex((end) => end <= line.start[call]);
      if (row < 0) row = ends.length;
    }
    if (line.depth[call] === 0) latest = Math.max(latest, ends[row] = line.start[call] + line.length[call]);
    lane.row.set(call, row);
    lane.rows = Math.max(lane.rows, Math.min(row + 1, 12));
  }
}

function duration() {
  return Math.max(recording.duration, data.time_line.column);
}

function whole() {
  [axis.from, axis.to] = [0, duration()];
  drawTimeline();
}

function plotWidth() {
  return Math.max(axis.holder.clientWidth - axis.head, 1);
}

function timeAt(event) {
  const x = event.clientX - axis.canvas.getBoundingClientRect().left - axis.head;
  return axis.from + Math.max(x, 0) * (axis.to - axis.from) / plotWidth();
}

function zoomAxis(factor, centre) {
  const at = centre ?? (axis.from + axis.to) / 2;
  const width = Math.min(Math.max((axis.to - axis.from) * factor, 100), duration());
  const share = (at - axis.from) / (axis.to - axis.from);
  axis.to = axis.from = at - share * width;
  axis.to += width;
  panTo(axis.from);
}

function panTo(from) {
  const width = axis.to - axis.from;
  axis.from = Math.min(Math.max(from, 0), duration() - width);
  axis.to = axis.from + width;
  drawTimeline();
}

function axisKey(event) {
  const width = axis.to - axis.from;
  const actions = {
    ArrowLeft: () => panTo(axis.from - width / 8), ArrowRight: () => panTo(axis.from + width / 8), a: () => panTo(axis.from - width / 8),
    d: () => panTo(axis.from + width / 8), "+": () => zoomAxis(0.5), w: () => zoomAxis(0.5), "-": () => zoomAxis(2), s: () => zoomAxis(2), 0: whole,
  };
  if (actions[event.key] && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    actions[event.key]();
  }
}

function drawTimeline() {
  const width = axis.holder?.clientWidth;
  if (!width) return;
  const line = data.time_line;
  let height = 24;
  for (const lane of axis.lanes) {
    lane.top = height;
    height += axis.strip + lane.rows * axis.row + 10;
  }
  const context = prepared(axis.canvas, width, height);
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(name).trim();
  const theme = { saturation: value("--flame-saturation"), lightness: value("--flame-lightness") };
  const [ink, faint, grid, bar, text] = ["--flame-ink", "--faint", "--line", "--bar", "--ink"].map(value);
  const scale = plotWidth() / (axis.to - axis.from);
  const place = (time) => axis.head + (time - axis.from) * scale;
  drawTicks(context, place, height, grid, faint);
  axis.info.textContent = `${time(Math.round(axis.from))} to ${time(Math.round(axis.to))}`;
  for (const lane of axis.lanes) {
    context.fillStyle = text;
    context.fillText(fitted(context, lane.name, axis.head - 16), 4, lane.top + axis.strip / 2);
    context.save();
    context.beginPath();
    context.rect(axis.head, lane.top, width, axis.strip + lane.rows * axis.row);
    context.clip();
    context.fillStyle = bar;
    const most = Math.max(100, ...lane.busy);
    const first = Math.max(Math.floor(axis.from / line.column), 0);
    for (let column = first; column < lane.busy.length && column * line.column < axis.to; column++) {
      const tall = lane.busy[column] * (axis.strip - 2) / most;
      const left = place(column * line.column);
      if (tall > 0) context.fillRect(left, lane.top + axis.strip - 1 - tall, Math.max(line.column * scale + 0.4, 0.6), Math.max(tall, 1));
    }
    for (const call of lane.calls) {
      const row = lane.row.get(call);
      const [left, right] = [place(line.start[call]), place(line.start[call] + line.length[call])];
      if (row >= 12 || right < axis.head || left > width) continue;
      const top = lane.top + axis.strip + row * axis.row;
      context.fillStyle = colour(frames[line.frame[call]], theme);
      context.fillRect(left, top, Math.max(right - left - 0.5, 0.7), axis.row - 1);
      if (call === axis.hover) { context.strokeStyle = ink; context.strokeRect(left + 0.5, top + 0.5, Math.max(right - left - 1.5, 0.7), axis.row - 2); }
      const [from, to] = [Math.max(left, axis.head), Math.min(right, width)];
      if (to - from > 44) {
        context.fillStyle = ink;
        const frame = frames[line.frame[call]];
        context.fillText(fitted(context, `${simpleName(frame.class)}.${frame.method}`, to - from - 6), from + 3, top + axis.row / 2);
      }
    }
    context.restore();
  }
}

function drawTicks(context, place, height, grid, faint) {
  const wanted = (axis.to - axis.from) / 7;
  const power = 10 ** Math.floor(Math.log10(Math.max(wanted, 1)));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= wanted);
  for (let tick = Math.ceil(axis.from / step) * step; tick <= axis.to; tick += step) {
    context.fillStyle = grid;
    context.fillRect(place(tick), 16, 1, height);
    context.fillStyle = faint;
    context.fillText(time(Math.round(tick)), place(tick) + 3, 9);
  }
}

function fitted(context, name, room) {
  const wide = context.measureText(name).width;
  if (wide <= room) return name;
  const letters = Math.floor(name.length * room / wide) - 1;
  return letters < 2 ? "" : `${name.slice(0, letters)}…`;
}

function callAt(event) {
  const box = axis.canvas.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const lane = axis.lanes.find(({ top, rows }) => y >= top + axis.strip && y < top + axis.strip + rows * axis.row);
  if (!lane || x < axis.head) return -1;
  const row = Math.floor((y - lane.top - axis.strip) / axis.row);
  const line = data.time_line;
  const at = axis.from + (x - axis.head) * (axis.to - axis.from) / plotWidth();
  const slack = (axis.to - axis.from) / plotWidth();
  return lane.calls.find((call) => lane.row.get(call) === row && at >= line.start[call] - slack && at <= line.start[call] + line.length[call] + slack) ?? -1;
}

// At level watch a short call is drawn as long as a tick.
function callLength(frame, length) {
  if (frame.estimated && !(length >= (data.shortest_length ?? Infinity))) return "unknown: less than two ticks";
  return estimate(frame.estimated, time(length));
}

function hoverCall(call, event) {
  const tooltip = document.getElementById("tooltip");
  if (call !== axis.hover) {
    axis.hover = call;
    drawTimeline();
    tooltip.hidden = call < 0;
    const line = data.time_line;
    if (call >= 0) {
      const rows = [["start", time(line.start[call])], ["length", callLength(frames[line.frame[call]], line.length[call])], ["thread", line.lanes[line.lane[call]].name]];
      const values = line.arguments?.[call];
      if (values) rows.push(["with", values]);
      tooltip.replaceChildren(make("b", {}, fullName(frames[line.frame[call]])), factList(rows));
    }
  }
  if (call >= 0 && event) placeTooltip(tooltip, event);
}
