// Static sentence encoders of sentence-distillery in JavaScript: texts in, vectors out, the same as in Python.
//
//   const encoder = await load("models/student/");
//   const [storm, gale] = encoder.encode(["The storm closed the port.", "A gale shut the harbour."]);
//   similarity(storm, gale);
//
// The work is done by the native core of the Python package, compiled to WebAssembly; `build.py` writes it into this
// file. sentence-distillery.d.ts describes what is exported, README.md what is supported.

const CORE = "@core@"; // the module in base64

const CONFIG = "config.json";
const SETTINGS = "config_sentence_transformers.json";
const TOKENIZER = "tokenizer.json";
const WEIGHTS = "model.safetensors";
const CACHE = "sentence-distillery";

const BATCH = 1024; // texts that the core gets at a time
const PLACES = 8; // of a stem in the lexical channel
const GREATEST_WEIGHT = 1000;
const GREATEST_DIMENSION = 2 ** 16;
const UNIT = 0; // forms of a vector: of unit length,
const MEAN = 1; // or the mean of its tokens' vectors
const FULL = 0; // the normalizers of which the core has tables: this library's,
const BERT = 1; // and BERT's alone
const NO_LEVEL = -128;
const SIZES = { I8: 1, F16: 2, F32: 4, I32: 4 };
const LETTERS = { I8: "b", F16: "e", F32: "f" }; // of a table's type in the core

const FAULTS = {
  "-1": "WebAssembly has no memory left: load fewer models, or encode shorter texts.",
  "-2": `${TOKENIZER} has a token that is longer than the core can look up.`,
  "-3": `${TOKENIZER} has an added token that the core does not find in a text.`,
  "-4": `${WEIGHTS} has fewer rows than ${TOKENIZER} has tokens: the files belong to different models.`,
  "-5": `${WEIGHTS} has a lexical channel that points outside its table: the file is damaged.`,
};

// The steps before BERT's that this library's own tokenizers have.
const EARLIER_STEPS = JSON.stringify([
  { type: "Replace", pattern: { Regex: "[™℠]" }, content: " " },
  { type: "Replace", pattern: { String: "½" }, content: " 1/2 " },
  { type: "Replace", pattern: { String: "¼" }, content: " 1/4 " },
  { type: "Replace", pattern: { String: "¾" }, content: " 3/4 " },
  { type: "NFKC" },
  { type: "Replace", pattern: { String: "⁄" }, content: "/" },
  { type: "Replace", pattern: { String: "‐" }, content: "-" },
]);
const EMOJI = /^[\u231a-\u23ff\u25a0-\u27bf\u2b00-\u2bff\u{1f000}-\u{1faff}]$/u;
const PUNCTUATION = /[!-/:-@[-`{-~\p{P}]/u;
const FOREIGN_SIGN = /[\u231a-\u23ff\u25a0-\u27bf\u2b00-\u2bff\u{1f000}-\u{1faff}]|(?![!-~])\p{P}/u;

const decoder = new TextDecoder();
const utf8 = new TextEncoder();
let compiled = null; // the module, compiled once for all models

/** Load a model from its directory, or from a function that reads its files. */
async function load(source, options = {}) {
  const files = typeof source === "function" ? new GivenFiles(source) : new Files(source, options);
  const config = checkedConfig(parsed(await files.read(CONFIG), files.name(CONFIG)), files.name(CONFIG));
  const settings = await files.read(SETTINGS);
  compiled ??= WebAssembly.compile(bytesOf(CORE));
  const core = new Core(await compiled);
  const reading = files.read(TOKENIZER);
  const weights = await files.readWeights(config, core, options.progress);
  const vocabulary = checkedVocabulary(parsed(await reading, files.name(TOKENIZER)), files.name(TOKENIZER));
  const given = { ...options, settings: settings ? parsed(settings, files.name(SETTINGS)) : {} };
  return new Encoder(core, config, vocabulary, new Tensors(core, weights, files.name(WEIGHTS)), given);
}

/** A loaded model. */
class Encoder {
  #core;
  #prompts;

  constructor(core, config, vocabulary, tensors, options) {
    this.#core = core;
    this.#prompts = promptsOf(options.settings);
    this.vocabulary = vocabulary.words;
    loadVocabulary(core, vocabulary);
    const table = loadTable(core, tensors, vocabulary.words.length, config.step ?? null);
    const channel = loadChannel(core, tensors, config.lexical, options.lexicalWeight, vocabulary.words.length);
    this.fullDimension = table + channel;
    const saved = options.settings.truncate_dim ?? this.fullDimension;
    this.dimension = checkedDimension(options.truncateDim ?? Math.min(saved, this.fullDimension), this.fullDimension);
    core.checked(core.exports.start());
  }

  /** Turn a text into a vector, or a list of texts into a list of vectors. */
  encode(texts, options = {}) {
    const single = typeof texts === "string";
    const listed = single ? [texts] : Array.from(texts);
    const wrong = listed.findIndex((text) => typeof text !== "string");
    if (wrong >= 0) throw new TypeError(`texts[${wrong}] is ${typeof listed[wrong]}, not a string.`);
    const prompt = options.prompt ?? this.#prompts.default;
    const read = prompt ? listed.map((text) => prompt + text) : listed;
    const width = this.dimension;
    const form = options.normalize === false ? MEAN : UNIT;
    const vectors = new Float32Array(read.length * width);
    for (let start = 0; start < read.length; start += BATCH) {
      const batch = read.slice(start, start + BATCH);
      const strange = this.#core.encode(batch, width, form, vectors.subarray(start * width));
      for (const place of strange) {
        this.#core.encode([sorted(batch[place])], width, form, vectors.subarray((start + place) * width));
      }
    }
    if (single) return vectors;
    const rows = new Array(read.length);
    for (let row = 0; row < rows.length; row++) rows[row] = new Float32Array(vectors.buffer, row * width * 4, width);
    return rows;
  }

  /** List the tokens of a text, "[UNK]" for an unknown one; punctuation is left out. */
  tokens(text) {
    return Array.from(this.#core.tokenIds(sorted(text)), (id) => this.vocabulary[id]);
  }
}

/** Compute cosines: of two vectors a number, of a vector and a list a row, of two lists a row for each of the first. */
function similarity(one, other) {
  if (one.length && typeof one[0] !== "number") return Array.from(one, (row) => similarity(row, other));
  if (other.length && typeof other[0] !== "number") return Float32Array.from(other, (row) => cosine(one, row));
  return cosine(one, other);
}

function cosine(one, other) {
  if (one.length !== other.length) {
    throw new RangeError(`The vectors have ${one.length} and ${other.length} numbers; encode both by one encoder.`);
  }
  let product = 0, ones = 0, others = 0;
  for (let k = 0; k < one.length; k++) {
    product += one[k] * other[k];
    ones += one[k] * one[k];
    others += other[k] * other[k];
  }
  return ones && others ? product / Math.sqrt(ones * others) : 0;
}

// Combining marks in a row count in the order that Unicode gives them. The core leaves that to whoever calls it.
function sorted(text) {
  return text.replace(/(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}]/gu, "").normalize("NFD"); // what is dropped parts no marks
}

// ---- Files

/** Files of a directory, fetched, or read from the disk in Node. Weights are kept in the browser's cache. */
class Files {
  #base;
  #cached;

  constructor(url, options) {
    const start = globalThis.document?.baseURI ?? `file://${globalThis.process?.cwd()}/`;
    this.#base = new URL(`${String(url).replace(/\/+$/, "")}/`, start);
    this.#cached = options.cache ?? true;
  }

  name(file) {
    return new URL(file, this.#base).href;
  }

  /** Return the bytes of a file; null if there is none. Without a network, a copy that was kept will do. */
  async read(file) {
    const url = this.name(file);
    if (this.#base.protocol === "file:" && globalThis.process) return readFromDisk(url);
    const cache = await this.#cache();
    let answer;
    try {
      answer = await fetch(url, { cache: "no-cache" });
    } catch (error) {
      answer = await cache?.match(url);
      if (!answer) throw new Error(`${url} cannot be fetched (${error.message}). Check the address and the network.`);
    }
    if (answer.status === 404) return null;
    if (!answer.ok) throw new Error(`${url} cannot be fetched: the server answers ${answer.status}.`);
    if (answer.type === "basic" || answer.type === "cors") await cache?.put(url, answer.clone());
    return new Uint8Array(await answer.arrayBuffer());
  }

  /** Read the weights into the memory of the core; an earlier copy will do if it has the digest of config.json. */
  async readWeights(config, core, progress) {
    const url = this.name(WEIGHTS);
    if (this.#base.protocol === "file:" && globalThis.process) {
      return keepChecked(core, (await readFromDisk(url)) ?? missing(url), config, url, progress);
    }
    const digest = digestOf(config);
    const cache = digest ? await this.#cache() : null;
    const key = `${url}?sha256=${digest}`;
    const kept = await cache?.match(key);
    const block = await stream(kept ?? (await fetched(url)), config, core, progress);
    if (kept) {
      if (await intact(core, block, digest)) return block;
      await cache.delete(key);
      return this.readWeights(config, core, progress);
    }
    await check(core, block, config, url);
    if (cache) await keepIn(cache, url, key, core.bytes(block));
    return block;
  }

  // No cache: in Node, on a page that is not secure, or if the browser is told to keep nothing.
  async #cache() {
    if (!this.#cached || !globalThis.caches) return null;
    try {
      return await caches.open(CACHE);
    } catch {
      return null;
    }
  }
}

/** Files that a function of the caller returns. */
class GivenFiles {
  #reader;

  constructor(reader) {
    this.#reader = reader;
  }

  name(file) {
    return file;
  }

  async read(file) {
    return (await this.#reader(file)) ?? null;
  }

  async readWeights(config, core, progress) {
    return keepChecked(core, (await this.#reader(WEIGHTS)) ?? missing(WEIGHTS), config, WEIGHTS, progress);
  }
}

async function readFromDisk(url) {
  const { readFile } = await import("node:fs/promises");
  try {
    return await readFile(new URL(url));
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}

async function fetched(url) {
  let answer;
  try {
    answer = await fetch(url);
  } catch (error) {
    throw new Error(`${url} cannot be fetched (${error.message}). Check the address and the network.`);
  }
  return answer.ok ? answer : missing(url, `the server answers ${answer.status}`);
}

function missing(name, reason = "it does not exist") {
  throw new Error(`${name} cannot be read: ${reason}. Name a directory that save_pretrained or distill wrote.`);
}

async function keepChecked(core, bytes, config, name, progress) {
  const block = core.keep(bytes);
  progress?.({ loaded: block.length, total: block.length });
  await check(core, block, config, name);
  return block;
}

async function check(core, block, config, name) {
  const digest = digestOf(config);
  if (digest && !(await intact(core, block, digest))) {
    throw new Error(`${name} is not the file that ${CONFIG} describes: it is damaged, or belongs to another model.`);
  }
}

/** Copy an answer into the memory of the core, and tell how far that is. */
async function stream(answer, config, core, progress) {
  const stated = answer.headers.get("content-encoding") ? 0 : Number(answer.headers.get("content-length"));
  const expected = stated || expectedSize(config);
  const parts = [];
  let loaded = 0;
  for (const reader = answer.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    loaded += value.length;
    progress?.({ loaded, total: Math.max(expected, loaded) });
  }
  const block = core.take(loaded);
  let start = block.start;
  for (const part of parts) {
    core.memory.set(part, start);
    start += part.length;
  }
  progress?.({ loaded, total: loaded });
  return block;
}

// What the weights come to, near enough for a bar, if the server compresses them and so does not say.
function expectedSize(config) {
  const size = { int8: 1, float16: 2 }[config.embedding_dtype] ?? 4;
  return config.vocabulary * (config.token_dimension * size + (config.lexical ? 12 : 4));
}

async function keepIn(cache, url, key, bytes) {
  try {
    await cache.delete(url, { ignoreSearch: true }); // those of an earlier version
    await cache.put(key, new Response(bytes.slice(), { headers: { "content-length": String(bytes.length) } }));
  } catch {
    // the disk is full, or the browser allows less: it is fetched again the next time
  }
}

function digestOf(config) {
  return config.weights_sha256?.[WEIGHTS];
}

// On a page that is not secure the browser computes no digest, and the file is taken as it is.
async function intact(core, block, digest) {
  if (!globalThis.crypto?.subtle) return true;
  const found = new Uint8Array(await crypto.subtle.digest("SHA-256", core.bytes(block)));
  return Array.from(found, (byte) => byte.toString(16).padStart(2, "0")).join("") === digest;
}

function parsed(bytes, name) {
  try {
    return JSON.parse(decoder.decode(bytes ?? missing(name)));
  } catch (error) {
    if (error instanceof SyntaxError) throw new Error(`${name} is not JSON (${error.message}).`);
    throw error;
  }
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

// ---- What a model has

function refuse(name, reason) {
  throw new Error(`${name}: ${reason}. This file computes static models that sentence-distillery saved; use Python.`);
}

function checkedConfig(config, name) {
  if (!["kind", "dimension", "token_dimension"].every((entry) => entry in (config ?? {}))) {
    refuse(name, "it does not describe a model of sentence-distillery");
  }
  if (config.kind !== "static" && config.kind !== "lexical") refuse(name, `kind is "${config.kind}", which has layers`);
  if (config.text_rules) refuse(name, "the model has the tokenizer of another library");
  if (config.max_length != null) refuse(name, `max_length is ${config.max_length}, not null`);
  return config;
}

function promptsOf(settings) {
  const named = { query: "", document: "", ...settings.prompts };
  const chosen = settings.default_prompt_name ?? null;
  if (chosen !== null && !(chosen in named)) refuse(SETTINGS, `default_prompt_name is "${chosen}", and has no prompt`);
  return { default: chosen === null ? "" : (named[chosen] ?? "") };
}

function checkedDimension(dimension, full) {
  if (!Number.isInteger(dimension) || dimension < 1 || dimension > full) {
    throw new RangeError(`truncateDim is ${dimension}; it is a whole number from 1 to ${full}.`);
  }
  return dimension;
}

function checkedVocabulary(tokenizer, name) {
  try {
    return vocabularyOf(tokenizer, name);
  } catch (error) {
    if (error instanceof TypeError) refuse(name, "it is not the tokenizer of a static model");
    throw error;
  }
}

/** Parse a WordPiece tokenizer as Python's `vocabulary_of` does. */
function vocabularyOf(tokenizer, name) {
  const { model, normalizer, pre_tokenizer: splitter, added_tokens: added, truncation } = tokenizer;
  const steps = normalizer?.type === "Sequence" ? normalizer.normalizers : [normalizer];
  const bert = steps.at(-1);
  const earlier = JSON.stringify(steps.slice(0, -1));
  const isBert = bert?.type === "BertNormalizer" && bert.clean_text && bert.handle_chinese_chars && bert.lowercase;
  if (!isBert || bert.strip_accents === false) refuse(name, "its normalizer is not BERT's in lower case, without accents");
  if (earlier !== "[]" && earlier !== EARLIER_STEPS) refuse(name, "its normalizer has other steps before BERT's");
  if (splitter?.type !== "BertPreTokenizer") refuse(name, `its pre-tokenizer is ${splitter?.type}, not BERT's`);
  if (model?.type !== "WordPiece" || model.continuing_subword_prefix !== "##") refuse(name, "its model is not WordPiece");
  if (truncation != null) refuse(name, "it cuts texts (truncation is not null)");
  const longest = model.max_input_chars_per_word;
  if (longest !== 100 && longest !== 400) refuse(name, `max_input_chars_per_word is ${longest}, not 100 or 400`);
  const words = wordsById(model.vocab, name);
  if (words[0] !== model.unk_token) refuse(name, `its first token is not ${model.unk_token}`);
  const terms = termsOf(added, words, name);
  return { words, terms, longest, normalizer: earlier === "[]" ? BERT : FULL };
}

function wordsById(vocabulary, name) {
  const entries = Object.entries(vocabulary);
  const words = new Array(entries.length).fill(null);
  for (const [word, id] of entries) words[id] = word;
  if (words.length !== entries.length || words.includes(null)) refuse(name, "the ids of its tokens have gaps");
  return words;
}

/** List the ids of the terms: words with signs, such as c++, and emoji. The core finds no other added tokens. */
function termsOf(added, words, name) {
  const contents = new Set(added.map((token) => token.content));
  for (const token of added) {
    const emoji = EMOJI.test(token.content);
    const plain = !token.special && !token.lstrip && !token.rstrip && token.normalized && token.single_word !== emoji;
    if (!plain || words[token.id] !== token.content || (!emoji && FOREIGN_SIGN.test(token.content))) {
      refuse(name, `its added token "${token.content}" is not a word with signs, or an emoji`);
    }
  }
  const signed = words.find((word, id) => id && !word.startsWith("##") && !contents.has(word) && PUNCTUATION.test(word));
  if (signed !== undefined) refuse(name, `its token "${signed}" has punctuation, and is not an added token`);
  return added.map((token) => token.id);
}

/** The tensors of a safetensors file, in the memory of the core. */
class Tensors {
  #core;
  #start;
  #length;
  #header;

  constructor(core, block, name) {
    this.#core = core;
    this.name = name;
    const bytes = core.bytes(block);
    const size = bytes.length < 8 ? NaN : Number(new DataView(bytes.buffer, block.start).getBigUint64(0, true));
    if (!(size <= bytes.length - 8)) refuse(name, "it is not a readable safetensors file");
    this.#header = parsed(bytes.slice(8, 8 + size), name) ?? {};
    this.#start = block.start + 8 + size;
    this.#length = block.length - 8 - size;
  }

  has(tensor) {
    return Object.hasOwn(this.#header, tensor);
  }

  /** Find a tensor of one of some types, and check where it is. */
  find(tensor, types, dimensions) {
    const found = this.has(tensor) ? this.#header[tensor] : {};
    const { dtype, shape = [], data_offsets: [first, end] = [] } = found;
    const bytes = shape.reduce((product, count) => product * count, SIZES[dtype]);
    const whole = [first, end, ...shape].every((value) => Number.isInteger(value) && value >= 0);
    const fits = whole && end <= this.#length && end - first === bytes && bytes > 0;
    if (!types.includes(dtype) || shape.length !== dimensions || !fits) {
      refuse(this.name, `it has no tensor "${tensor}" of type ${types.join(", ")} and ${dimensions} dimensions`);
    }
    return { dtype, shape, start: this.#aligned(this.#start + first, bytes, SIZES[dtype]) };
  }

  // A tensor is copied if its numbers do not lie on multiples of their size.
  #aligned(start, bytes, size) {
    if (start % size === 0) return start;
    const block = this.#core.take(bytes);
    this.#core.memory.copyWithin(block.start, start, start + bytes);
    return block.start;
  }
}

function loadVocabulary(core, { words, terms, longest, normalizer }) {
  const bytes = core.take(words.reduce((sum, word) => sum + word.length * 3, 0)); // at most 3 bytes for a unit of UTF-16
  const ends = core.take(words.length * 4);
  const ids = core.take(terms.length * 4);
  const [memory, written] = [core.memory, core.numbers(Uint32Array, ends.start, words.length)];
  let end = 0;
  words.forEach((word, id) => {
    end += utf8.encodeInto(word, memory.subarray(bytes.start + end, bytes.start + bytes.length)).written;
    written[id] = end;
  });
  core.numbers(Uint32Array, ids.start, terms.length).set(terms);
  const { load_vocabulary: loading } = core.exports;
  core.checked(loading(bytes.start, ends.start, words.length, ids.start, terms.length, longest, normalizer));
}

/** Load the table, and return its dimension. A table of float16 with a step holds levels, which are summed exactly. */
function loadTable(core, tensors, words, step) {
  if (tensors.has("mapping")) refuse(tensors.name, 'its tokens share rows (tensor "mapping")');
  const name = tensors.has("embedding.weight") ? "embedding.weight" : "embeddings";
  const { dtype, shape, start } = tensors.find(name, ["I8", "F16", "F32"], 2);
  if (name === "embeddings" && tensors.has("weights")) checkFactors(core, tensors);
  const levels = dtype === "F16" && step !== null;
  const rows = levels ? asLevels(core, tensors, start, shape, step) : start;
  const type = levels ? "I8" : dtype;
  checkTable(core, tensors, rows, type, shape);
  const letter = LETTERS[type].charCodeAt(0);
  core.checked(core.exports.load_table(rows, shape[0], shape[1], letter, step ?? 1), shape[0] < words);
  return shape[1];
}

function checkFactors(core, tensors) {
  const { dtype, start, shape } = tensors.find("weights", ["F16", "F32"], 1);
  const [kind, one] = dtype === "F16" ? [Uint16Array, 0x3c00] : [Float32Array, 1];
  if (core.numbers(kind, start, shape[0]).some((factor) => factor !== one)) {
    refuse(tensors.name, 'its tokens have factors other than 1 (tensor "weights")');
  }
}

/** Divide a table of float16 by the step between its levels. */
function asLevels(core, tensors, start, [count, dimension], step) {
  const byBits = Int8Array.from({ length: 2 ** 16 }, (_, bits) => {
    const level = Math.fround(fromHalf(bits) / Math.fround(step));
    return Number.isInteger(level) && Math.abs(level) <= 127 ? level : NO_LEVEL;
  });
  const block = core.take(count * dimension);
  const levels = core.numbers(Int8Array, block.start, count * dimension);
  core.numbers(Uint16Array, start, count * dimension).forEach((bits, place) => (levels[place] = byBits[bits]));
  if (levels.includes(NO_LEVEL)) refuse(tensors.name, `it has values other than levels in steps of ${step}`);
  return block.start;
}

function fromHalf(bits) {
  const [sign, exponent, rest] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return rest ? NaN : sign * Infinity;
  return exponent ? sign * 2 ** (exponent - 15) * (1 + rest / 1024) : sign * 2 ** -24 * rest;
}

function checkTable(core, tensors, start, dtype, [count, dimension]) {
  const [kind, special] = { I8: [Int8Array, 0], F16: [Uint16Array, 0x7c00], F32: [Uint32Array, 0x7f800000] }[dtype];
  const bits = core.numbers(kind, start, count * dimension);
  if (special && bits.some((number) => (number & special) === special)) refuse(tensors.name, "its table is not finite");
  const sign = { I8: 0, F16: 0x8000, F32: 0x80000000 }[dtype];
  if (bits.subarray(0, dimension).some((number) => (number & ~sign) !== 0)) {
    refuse(tensors.name, "the unknown token (row 0) has a vector, which is zero in a model of this library");
  }
}

/** Load the lexical channel, and return its dimension; 0 if it is left out. */
function loadChannel(core, tensors, described, givenWeight, words) {
  const weight = givenWeight ?? described?.weight ?? 0;
  const [short, long] = Array.isArray(weight) && weight.length === 2 ? weight : [weight, weight];
  if (![short, long].every((each) => typeof each === "number" && each >= 0 && each <= GREATEST_WEIGHT)) {
    throw new RangeError(`lexicalWeight is ${weight}; it is a number from 0 to ${GREATEST_WEIGHT}, or two in an array.`);
  }
  if (short === 0 && long === 0) return 0;
  if (!described) throw new RangeError(`lexicalWeight is ${weight}, but this model has no lexical channel: leave it out.`);
  const { dimension } = described;
  if (!(Number.isInteger(dimension) && dimension % PLACES === 0 && dimension >= PLACES && dimension <= GREATEST_DIMENSION)) {
    refuse(CONFIG, `the dimension of lexical is ${dimension}, not a multiple of ${PLACES}`);
  }
  const stems = tensors.find("lexical.stems", ["I32"], 1);
  const idf = tensors.find("lexical.idf", ["F32"], 1);
  if (stems.shape[0] < words || idf.shape[0] < words) refuse(tensors.name, "its lexical channel lacks tokens");
  const channel = byStem(core, stems.start, idf.start, words);
  const places = core.take(channel.count * PLACES * 4).start;
  core.exports.place_stems(channel.hashes, channel.count, dimension, places);
  const { numbers, frequencies, count } = channel;
  core.checked(core.exports.load_channel(numbers, frequencies, places, count, dimension, short, long));
  return dimension;
}

/** Number the stems, which tokens share. */
function byStem(core, stems, idf, words) {
  const [numbers, hashes, frequencies] = [0, 0, 0].map(() => core.take(words * 4).start);
  const [ofTokens, ofStems, idfs] = [numbers, hashes, frequencies].map((start, place) =>
    core.numbers(place === 2 ? Float32Array : Int32Array, start, words),
  );
  const values = core.numbers(Float32Array, idf, words);
  const known = new Map();
  core.numbers(Int32Array, stems, words).forEach((hash, token) => {
    let number = known.get(hash);
    if (number === undefined) {
      number = known.size;
      known.set(hash, number);
      ofStems[number] = hash;
      idfs[number] = values[token];
    }
    ofTokens[token] = number;
  });
  return { numbers, hashes, frequencies, count: known.size };
}

// ---- The core

/** An instance of the module. Its memory may move when it grows, so views are made when they are used. */
class Core {
  #room = 0; // bytes of the texts of a batch
  #texts = null;
  #ends;
  #strange;
  #out = null;

  constructor(module) {
    this.exports = new WebAssembly.Instance(module, { js: { log: Math.log } }).exports;
    this.#ends = this.take(BATCH * 4);
    this.#strange = this.take(BATCH);
  }

  get memory() {
    return new Uint8Array(this.exports.memory.buffer);
  }

  bytes(block) {
    return this.memory.subarray(block.start, block.start + block.length);
  }

  numbers(kind, start, count) {
    return new kind(this.exports.memory.buffer, start, count);
  }

  /** Take a block of memory, for good. */
  take(length) {
    const start = this.exports.take(length) >>> 0;
    if (!start) throw new RangeError(FAULTS["-1"]);
    return { start, length };
  }

  keep(bytes) {
    const block = this.take(bytes.length);
    this.memory.set(bytes, block.start);
    return block;
  }

  checked(code) {
    if (code < 0) throw new Error(FAULTS[code]);
    return code;
  }

  /** Write the vectors of a batch, and list the texts whose marks have to be sorted. */
  encode(texts, width, form, vectors) {
    const count = texts.length;
    const room = count * width * 4;
    const bytes = this.#write(texts);
    if ((this.#out?.length ?? 0) < room) this.#out = this.take(room);
    const { start: out } = this.#out;
    this.checked(this.exports.encode(bytes, this.#ends.start, count, width, form, out, this.#strange.start));
    vectors.set(this.numbers(Float32Array, out, count * width));
    const marks = this.bytes(this.#strange).subarray(0, count);
    return marks.includes(1) ? Array.from(marks.keys()).filter((place) => marks[place]) : [];
  }

  tokenIds(text) {
    const bytes = this.#write([text]);
    const length = this.numbers(Uint32Array, this.#ends.start, 1)[0];
    const room = Math.min(length * 2 + 1, this.#ends.length / 4); // of what is shown to a reader
    const count = this.checked(this.exports.token_ids(bytes, length, this.#ends.start, room));
    return this.numbers(Int32Array, this.#ends.start, count).slice();
  }

  /** Write texts to memory as UTF-8, and where each ends; half of a surrogate pair becomes U+FFFD, as in Python. */
  #write(texts) {
    const joined = texts.join("");
    const most = joined.length * 3; // bytes
    if (this.#room < most || !this.#texts) {
      this.#room = Math.max(most, this.#room * 2, 2 ** 16);
      this.#texts = this.take(this.#room);
    }
    const memory = this.bytes(this.#texts);
    const ends = this.numbers(Uint32Array, this.#ends.start, texts.length);
    let end = 0;
    const ascii = utf8.encodeInto(joined, memory).written === joined.length;
    for (let place = 0; place < texts.length; place++) {
      const text = texts[place];
      ends[place] = end += ascii ? text.length : utf8.encodeInto(text, memory.subarray(end)).written;
    }
    return this.#texts.start;
  }
}

export { Encoder, load, similarity };
