// Answers what the page asks, in place of the server: a folder of static files has this file, the encoder and the data.
// Data are scripts, each a part of a file in base64, since a page that is opened from a disk can load scripts alone.
// Nothing is sent: the page has a policy that forbids it.

(() => {
  const folder = document.querySelector("meta[name=data]").content;
  const waiting = new Map(); // what waits for a part, by its name
  let about; // what the page shows first, and the sizes and limits
  let collection; // texts, columns and the map
  let student; // vectors of the texts
  let teacher = null; // the same, if there are soft labels
  let encoder; // a promise

  // Each script calls this with its content.
  globalThis.part = (name, base64) => {
    const text = atob(base64);
    const bytes = new Uint8Array(text.length);
    for (let place = 0; place < text.length; place++) bytes[place] = text.charCodeAt(place);
    waiting.get(name)(bytes);
    waiting.delete(name);
  };

  function load(name) {
    return new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = `${folder}/${name}.js`;
      script.onload = () => script.remove();
      script.onerror = () => failed(new Error(`${folder}/${name}.js cannot be loaded: copy the whole folder, and load the page again.`));
      waiting.set(name, done);
      document.head.append(script);
    });
  }

  async function read(name, progress) {
    const [parts, size] = about.files[name] ?? [];
    if (!parts) return null;
    const bytes = new Uint8Array(size);
    let start = 0;
    for (let number = 0; number < parts; number++) {
      const part = await load(`${name}.${number}`);
      bytes.set(part, start);
      start += part.length;
      progress?.(start, size);
    }
    return bytes;
  }

  const parsed = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

  async function start() {
    about = parsed(await load("about.json"));
    collection = parsed(await read("collection.json"));
    student = vectors(new Int8Array((await read("student")).buffer));
    const bytes = await read("teacher");
    teacher = bytes && vectors(new Int8Array(bytes.buffer));
    encoder = loadEncoder();
    encoder.catch(() => {}); // the search says so
    encoder.then(() => searchAsOneTypes());
    return about;
  }

  async function loadEncoder() {
    const box = document.getElementById("loading");
    const [bar, line] = [box.querySelector("progress"), box.querySelector("span")];
    box.hidden = false;
    const show = (loaded, size) => {
      bar.value = loaded / size;
      line.textContent = `Loading the encoder: ${(loaded / 1e6).toFixed(1)} of ${(size / 1e6).toFixed(1)} MB. The map works already.`;
    };
    try {
      const progress = (name) => (name === "model.safetensors" ? show : undefined);
      return await sentenceDistillery.load((name) => read(name, progress(name)));
    } finally {
      box.hidden = true;
    }
  }

  function searchAsOneTypes() {
    const field = document.getElementById("query");
    field.addEventListener("input", () => field.value.trim() && document.getElementById("search").requestSubmit());
  }

  // ---- Vectors, in int8, each with a scale of its own, which its length takes away.

  function vectors(numbers) {
    const count = about.texts;
    const dimension = numbers.length / count;
    const lengths = new Float32Array(count);
    for (let row = 0; row < count; row++) lengths[row] = Math.sqrt(product(numbers, row, numbers.subarray(row * dimension)));
    return { numbers, dimension, lengths };

    function product(all, row, other) {
      let sum = 0;
      for (let k = 0, at = row * dimension; k < dimension; k++) sum += all[at + k] * other[k];
      return sum;
    }
  }

  function cosines({ numbers, dimension, lengths }, vector) {
    const found = new Float32Array(lengths.length);
    for (let row = 0, at = 0; row < lengths.length; row++) {
      let sum = 0;
      for (let k = 0; k < dimension; k++) sum += numbers[at++] * vector[k];
      found[row] = lengths[row] ? sum / lengths[row] : 0;
    }
    return found;
  }

  // A text's own vector, of unit length.
  function unit({ numbers, dimension, lengths }, index) {
    const row = numbers.subarray(index * dimension, (index + 1) * dimension);
    return Float32Array.from(row, (number) => (lengths[index] ? number / lengths[index] : 0));
  }

  function nearest(rows, vector, { column, value }, without = -1) {
    const scores = cosines(rows, vector);
    const passes = filter(column, value);
    const kept = Array.from(scores.keys()).filter((index) => index !== without && passes(index));
    kept.sort((one, other) => scores[other] - scores[one] || one - other);
    return kept.slice(0, about.limits.candidates).map((index) => ({ index, score: scores[index] }));
  }

  function filter(column, value) {
    if (!column) return () => true;
    const values = collection.columns[column];
    if (about.columns[column].length) return (index) => values[index] === value;
    const wanted = value.toLowerCase();
    return (index) => values[index].toLowerCase().includes(wanted);
  }

  // The first of each group, with those that are nearly the same text below it.
  function groups(rows, neighbours) {
    const { near, neighbours: most, others: listed } = about.limits;
    const found = [];
    for (const neighbour of neighbours) {
      const own = unit(rows, neighbour.index);
      const alike = found.map((group) => dot(group.vector, own));
      const closest = alike.indexOf(Math.max(...alike));
      if (closest >= 0 && alike[closest] >= near) found[closest].others.push(neighbour);
      else if (found.length < most) found.push({ first: neighbour, vector: own, others: [] });
    }
    return found.map(({ first, others }) => ({
      ...hit(first),
      place: collection.map.places[first.index],
      others: others.slice(0, listed).map(hit),
      count: others.length,
    }));
  }

  function dot(one, other) {
    let sum = 0;
    for (let k = 0; k < one.length; k++) sum += one[k] * other[k];
    return sum;
  }

  const hit = ({ index, score }) => ({ ...row(index), score });

  function row(index) {
    const columns = Object.entries(collection.columns).map(([name, values]) => [name, values[index]]);
    return { index, text: collection.texts[index], columns: Object.fromEntries(columns.filter(([, value]) => value)) };
  }

  // ---- The four questions of the page

  async function search({ q, ...where }) {
    if (!q.trim()) throw new Error("Type a text to search for.");
    const loaded = await encoder;
    const vector = loaded.encode(q);
    const known = vector.some((number) => number !== 0);
    return { words: words(loaded, q), student: known ? groups(student, nearest(student, vector, where)) : [] };
  }

  async function alike({ index, ...where }) {
    const found = (rows) => groups(rows, nearest(rows, unit(rows, index), where, index));
    return { ...row(index), place: collection.map.places[index], student: found(student), teacher: teacher && found(teacher) };
  }

  async function map() {
    const { drawn, places, method, kept } = collection.map;
    const title = (text) => (text.length > about.limits.title ? `${text.slice(0, about.limits.title)}…` : text);
    return { points: drawn.map((index) => ({ index, place: places[index], text: title(collection.texts[index]) })), method, kept };
  }

  // How the encoder reads each word of a query: known, cut into pieces, or unknown.
  function words(loaded, text) {
    const unknown = loaded.vocabulary[0];
    const reading = (written) => {
      const tokens = loaded.tokens(written);
      if (!tokens.length) return [];
      if (tokens.every((token) => token === unknown)) return [{ text: written, reading: "unknown" }];
      if (!tokens.some((token) => token.startsWith("##"))) return [{ text: written, reading: "known" }];
      return [{ text: written, reading: "cut", pieces: tokens }];
    };
    return (text.match(/\S+/g) ?? []).flatMap((chunk) => {
      const whole = loaded.tokens(chunk);
      if (whole.length === 1 && whole[0] !== unknown) return reading(chunk); // also a term, such as c++
      return (chunk.match(/[^\s!-/:-@[-`{-~\p{P}]+/gu) ?? []).flatMap(reading);
    });
  }

  const questions = { "/api/about": start, "/api/search": search, "/api/alike": alike, "/api/map": map };
  globalThis.answers = (path, parameters) => questions[path](parameters);
})();
