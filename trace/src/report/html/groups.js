// The figures by module, package or class: one table with a switch. Each adds up to the same as all methods.
const GROUPINGS = [["modules", "Modules"], ["packages", "Packages"], ["classes", "Classes"]];

function groupsPanel() {
  const panel = make("div", { class: "panel" });
  const show = (key) => {
    const rows = data.views[key];
    const measured = (title, field) => number(title, (row) => row[field], (value, row) => estimate(row.estimated, amount(value)));
    const portion = (field) => number("%", (row) => row[field], (value) => share(value, data.total), { whole: data.total });
    const sum = rows.reduce((sum, row) => sum + row.own, 0);
    const notes = [`own ${isMemory ? "bytes" : "times"} add up to ${amount(sum)}`];
    if (key === "modules" && data.views.modules_are_packages) notes.push("classes of the class path stand under their package");
    const table = tablePanel({
      rows, sort: 0, filter: (row) => row.name,
      columns: [
        measured("Own", "own"), portion("own"), measured("Total", "total"), portion("total"),
        ...(isSampled ? [] : [number("Calls", (row) => row.calls, (calls, row) => atLeast(row.estimated, calls))]), number("Methods", (row) => row.methods),
        { title: GROUPINGS.find(([name]) => name === key)[1], text: true, value: (row) => row.name, show: (row) => groupLink(row.name) },
      ],
      note: notes.join(" · "),
    });
    const switches = GROUPINGS.map(([name, title]) => make("button", { "data-grouping": name, "aria-pressed": String(name === key), onclick: () => show(name) },
      title, make("small", {}, count(data.views[name].length))));
    panel.replaceChildren(make("div", { class: "tools switch" }, ...switches), ...table.childNodes);
  };
  show(data.views.modules.length > 1 ? "packages" : "classes");
  return panel;
}

// Goes to the methods of a group.
function groupLink(name) {
  return make("button", { class: "link", title: "Its methods", onclick: () => filterMethods(name) }, name);
}

function filterMethods(name) {
  showTab("methods");
  const field = document.querySelector('#panels > :not([hidden]) input[type="search"]');
  if (!field) return;
  field.value = name;
  field.dispatchEvent(new Event("input"));
}
