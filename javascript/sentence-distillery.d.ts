/** Static sentence encoders: texts in, vectors out, the same vectors as those of the Python package. */

/** How far the weights are loaded, in bytes; `total` is an estimate if the server compresses them. */
export interface Loading {
  loaded: number;
  total: number;
}

export interface LoadOptions {
  /** Called as the weights arrive. */
  progress?: (loading: Loading) => void;
  /** The dimensions to keep, the first ones; by default what the model was saved with. */
  truncateDim?: number;
  /** The length of the lexical channel relative to the rest, 0 to 1,000, or that in short texts and that in long ones;
   * by default what the model was saved with. For a search give one number, such as 1.2. */
  lexicalWeight?: number | [short: number, long: number];
  /** Whether the browser keeps the files (Cache API); true by default. */
  cache?: boolean;
}

export interface EncodeOptions {
  /** Whether vectors have unit length (true), or are the mean of the token vectors. */
  normalize?: boolean;
  /** A text that is put before each text; by default the model's own, which most do not have. */
  prompt?: string;
}

/** Returns the bytes of one of the model's files, such as "config.json"; null or undefined if there is none. */
export type ReadFile = (name: string) => Promise<Uint8Array | null | undefined>;

export class Encoder {
  private constructor();
  /** The numbers of a vector. */
  readonly dimension: number;
  /** The same, without `truncateDim`. */
  readonly fullDimension: number;
  /** The tokens by their ids. */
  readonly vocabulary: readonly string[];
  /** The vector of a text; zeros if no token of it is known. */
  encode(text: string, options?: EncodeOptions): Float32Array;
  /** The vectors of texts, which share one buffer. */
  encode(texts: Iterable<string>, options?: EncodeOptions): Float32Array[];
  /** The tokens of a text, the unknown token for an unknown one; punctuation is left out. */
  tokens(text: string): string[];
}

/**
 * Load a model that `save_pretrained` or `distill` of the Python package wrote.
 *
 * @param source The address of its directory, in Node also a path; or a function that reads its files.
 * @throws Error if a file is missing or damaged, or the model is one that only Python computes.
 */
export function load(source: string | URL | ReadFile, options?: LoadOptions): Promise<Encoder>;

type Vector = ArrayLike<number>;

/** The cosine of two vectors; 0 if one is zero. */
export function similarity(one: Vector, other: Vector): number;
/** The cosines of a vector with each of a list. */
export function similarity(one: Vector, others: readonly Vector[]): Float32Array;
/** The cosines of two lists: a row for each of the first. */
export function similarity(ones: readonly Vector[], others: readonly Vector[]): Float32Array[];
