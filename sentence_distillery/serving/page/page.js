// The page: a search, the texts that are alike, and the map. Texts are data: they are set as text, never as HTML.
// The server answers what it asks; in a folder of static files answers.js does.

const at = (id) => document.getElementById(id);
const key = decodeURIComponent(location.hash.slice(1)); // the address that the server prints ends with it
if (key) history.replaceState(null, "", location.pathname);

const SVG = "http://www.w3.org/2000/svg";
let radius = 0.01; // of a text on the map, which is 2 wide
let latest = 0; // only the answer to the latest question is shown
let again = null; // asks the latest question with another filter
let columns = {}; // the values that a filter offers, by column; none: it takes a part of a value

function element(name, text = "", attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  return made;
}

async function ask(path, parameters = {}) {
  if (globalThis.answers) return answers(path, parameters); // a folder of static files, without a server
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const answer = await fetch(`${path}?${new URLSearchParams(parameters)}`, { headers });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error.message);
  return body;
}

async function show(question, asked) {
  const mine = ++latest;
  again = () => show(question, asked);
  try {
    const found = await question();
    if (mine !== latest) return;
    at("problem").hidden = true;
    showWords(found.words);
    showLists(found, asked);
  } catch (error) {
    if (mine !== latest) return;
    at("problem").textContent = error.message;
    at("problem").hidden = false;
    at("results").hidden = true;
    showWords(null);
  }
}

function showWords(words) {
  const line = at("words");
  line.replaceChildren();
  if (!words) return;
  const unknown = words.filter((word) => word.reading === "unknown");
  const cut = words.filter((word) => word.reading === "cut");
  if (unknown.length) {
    line.append("Unknown words: ");
    unknown.forEach((word, place) => line.append(place ? ", " : "", element("mark", word.text)));
    line.append(". ");
  }
  if (cut.length) {
    line.append("Not in the vocabulary, read as word pieces: ");
    cut.forEach((word, place) => {
      line.append(place ? ", " : "", element("mark", word.text), " (", element("code", word.pieces.join(" ")), ")");
    });
    line.append(". ");
  }
  if (!unknown.length && !cut.length) line.append(words.length ? "Every word is in the vocabulary." : "The query has no word.");
}

function showLists(found, asked) {
  at("asked").textContent = found.text ? `Texts like “${found.text}”` : "Closest texts";
  const ofTeacher = new Set((found.teacher ?? []).flatMap((row) => [row, ...row.others]).map((row) => row.index));
  const inBoth = new Set(found.student.map((row) => row.index).filter((index) => ofTeacher.has(index)));
  const lists = [list(found.teacher ? `Student, ${inBoth.size} of ${found.student.length} as the teacher` : "", found.student, inBoth)];
  if (found.teacher) lists.push(list("Teacher", found.teacher, inBoth));
  at("lists").replaceChildren(...lists);
  at("results").hidden = false;
  at("examples").hidden = true;
  at("marks").replaceChildren(...found.student.filter((row) => row.place).map((row) => dot(row, "near")));
  if (found.place) at("marks").append(dot({ ...found, index: asked }, "asked"));
}

function list(title, rows, inBoth) {
  const box = element("div");
  if (title) box.append(element("h3", title));
  const filtered = at("column").value !== "";
  const none = filtered ? "None: no text passes the filter, or the student does not know the words." : "None: the student does not know any of its words.";
  if (!rows.length) box.append(element("p", none));
  const items = element("ol");
  for (const row of rows) items.append(hit(row, inBoth.has(row.index) ? { class: "both" } : {}));
  box.append(items);
  return box;
}

function hit(row, attributes = {}) {
  const item = element("li", "", attributes);
  const box = element("div", "", { class: "hit" });
  const text = element("button", row.text, { class: "text", type: "button" });
  text.addEventListener("click", () => alike(row.index));
  box.append(text, ...values(row.columns));
  if (row.count) box.append(others(row));
  item.append(element("span", row.score.toFixed(3), { class: "score", title: "cosine" }), box);
  return item;
}

function values(columns) {
  const found = Object.entries(columns);
  if (!found.length) return [];
  const list = element("dl");
  for (const [name, value] of found) {
    const pair = element("div");
    const given = element("dd");
    given.append(isLink(value) ? element("a", value, { href: value, target: "_blank", rel: "noopener noreferrer" }) : value);
    pair.append(element("dt", name), given);
    list.append(pair);
  }
  return [list];
}

// Only http and https: a link from a table must not run a script.
function isLink(value) {
  return /^https?:\/\/\S+$/i.test(value) && URL.canParse(value) && ["http:", "https:"].includes(new URL(value).protocol);
}

function others(row) {
  const box = element("details");
  const items = element("ol");
  for (const other of row.others) items.append(hit(other));
  box.append(element("summary", `${row.count} nearly the same`), items);
  if (row.count > row.others.length) box.append(element("p", `and ${row.count - row.others.length} more`, { class: "quiet" }));
  return box;
}

// The column and the value that the texts must have; nothing if no filter is set.
function filter() {
  const column = at("column").value;
  const value = column && (columns[column].length ? at("choice").value : at("part").value);
  return column && (columns[column].length || value) ? { column, value } : {};
}

function showFilter() {
  at("filter").hidden = !Object.keys(columns).length;
  at("column").replaceChildren(element("option", "any", { value: "" }), ...Object.keys(columns).map((name) => element("option", name, { value: name })));
  at("column").addEventListener("change", () => {
    const chosen = columns[at("column").value];
    at("choice").replaceChildren(...(chosen ?? []).map((value) => element("option", value || "(empty)", { value })));
    at("choice").hidden = !chosen?.length;
    at("part").hidden = !chosen || chosen.length > 0;
    at("part").value = "";
    again?.();
  });
  for (const name of ["choice", "part"]) at(name).addEventListener("change", () => again?.());
}

function dot(row, name) {
  const circle = document.createElementNS(SVG, "circle");
  const [x, y] = row.place;
  for (const [attribute, value] of Object.entries({ cx: x, cy: -y, r: radius * (name === "point" ? 1 : 2), class: name })) {
    circle.setAttribute(attribute, value);
  }
  circle.addEventListener("pointerenter", () => (at("pointed").textContent = row.text));
  circle.addEventListener("click", () => alike(row.index));
  return circle;
}

const alike = (index) => show(() => ask("/api/alike", { index, ...filter() }), index);

async function showMap() {
  const map = await ask("/api/map");
  radius = map.points.length > 500 ? 0.009 : 0.016;
  at("points").replaceChildren(...map.points.map((point) => dot(point, "point")));
  at("pointed").textContent = "Point at a dot to read its text.";
  const kept = map.kept === null ? "" : `${(100 * map.kept).toFixed(0)} % of a text’s ten nearest texts are among its ten nearest here. `;
  at("map-note").textContent =
    `${map.points.length.toLocaleString("en")} texts, placed by ${map.method}. ${kept}` +
    "The cosines in the list measure similarity; distances on the map do not. Click a point for its neighbours.";
  again?.(); // what was asked before the map was drawn has no marks yet
}

// On a narrow screen the map opens by a button; a wide one always shows it.
function showButton() {
  const button = at("map-button");
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", open);
    button.textContent = `${open ? "Hide" : "Show"} the map of the texts`;
  });
}

function showExamples(texts) {
  const items = texts.map((text) => {
    const item = element("li");
    const button = element("button", `“${text.length > 120 ? `${text.slice(0, 120)}…` : text}”`, { class: "text", type: "button" });
    button.addEventListener("click", () => {
      at("query").value = text;
      at("search").requestSubmit();
    });
    item.append(button);
    return item;
  });
  at("examples").querySelector("ul").replaceChildren(...items);
  at("examples").hidden = !items.length;
}

async function start() {
  const about = await ask("/api/about");
  document.title = `Explore ${about.name}`;
  at("name").textContent = about.name;
  const left = about.left_out ? `; ${about.left_out.toLocaleString("en")} more were left out` : "";
  at("facts").textContent =
    `${about.texts.toLocaleString("en")} texts${left} · ${about.dimension} dimensions · ${about.tokens.toLocaleString("en")} tokens` +
    (about.teacher ? " · with the teacher’s vectors of the texts" : "") +
    (globalThis.answers ? " · searched in your browser, nothing is sent" : "");
  columns = about.columns;
  showFilter();
  showExamples(about.examples);
  await showMap();
}

showButton();
at("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const q = at("query").value;
  show(() => ask("/api/search", { q, ...filter() }));
});
start().catch((error) => {
  at("problem").textContent = error.message;
  at("problem").hidden = false;
});
