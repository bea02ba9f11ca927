/**
 * Tieout's client in one file: Node 18 and newer, no dependencies. See docs/clients.md.
 *
 *     const tieout = new Tieout(); // TIEOUT_URL and TIEOUT_TOKEN (or TIEOUT_TOKEN_FILE); {url, token} do as well
 *     const what = { type: "reminder.send", key: "reminder/483/1", payload: body };
 *     const reference = await tieout.once(what, async (op) => { // claimed and started
 *       const sent = await mail.send(body, { idempotencyKey: op.idempotencyKey });
 *       return sent.id;
 *     }); // also where it is done already; else Wait, Hold or Refused is thrown
 *
 * The work is called only where it may be done now, and makes one effect. Kill the process at any line and run it
 * again: what was claimed and what was said are on disk (TIEOUT_SPOOL) before they are told.
 */

import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { link, mkdir, open, readFile, readdir, rename, stat, unlink } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

export const VERSION = "0.1.0";

/** @typedef {Record<string, any>} Json */
/** @typedef {"proceed" | "wait" | "hold" | "skip" | "refuse"} Decision */
/**
 * @typedef {object} Members
 * @property {string} type
 * @property {string} key
 * @property {Json | null} payload the same at each try; null claims a correction by its key
 * @property {string} [amount] text, such as "1240.00", with its currency
 * @property {string} [currency]
 * @property {Json} [source]
 * @property {string} [description]
 * @property {string} [subject]
 * @property {{type: string, key: string}} [after] what has to be done first
 * @property {number} [lease_s] seconds
 */

const PAUSE_MAX_MS = 5000;
const STALE_MS = 2 * 86400 * 1000;
const [CODE_MAX, MESSAGE_MAX, TURNS] = [100, 10000, 20];
/** What fails before a byte of a request is sent, beside what fails in connecting. */
const NOT_SENT = new Set([
  "UND_ERR_CONNECT_TIMEOUT",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

/** Whatever this client throws; a script may end with its `exitStatus`. */
export class TieoutError extends Error {
  name = this.constructor.name;
  exitStatus = 77;
}
/** Tieout cannot be asked now. Nothing was done; run it again later. */
export class TieoutUnavailable extends TieoutError {
  exitStatus = 75;
}
/** The work must not be done now; `op` has the decision. */
export class NotNow extends TieoutError {
  /** @param {Operation} op */
  constructor(op) {
    super(`${op.type} ${op.key}: ${op.decision}. ${op.why}`.trimEnd());
    this.op = op;
  }
}
/** It is done already (`skip`). */
export class Done extends NotNow {
  exitStatus = 0;
}
/** Somebody is at it, or its next try is not due. */
export class Wait extends NotNow {
  exitStatus = 75;
}
/** A person decides first. */
export class Hold extends NotNow {
  exitStatus = 76;
}
/** The key was used with another payload (`refuse`); `op.changed` has the paths. */
export class Refused extends NotNow {}
/** The work ended without a word. Tieout was told that it may have happened. */
export class NothingSaid extends TieoutError {}
/** The lease has ended: start nothing more, and say what came back all the same. */
export class LeaseLost extends TieoutError {}
/** The spool folder cannot be used; the words say what is not on disk because of it. */
export class SpoolError extends TieoutError {}
/** Tieout refused a call; `status`, `type` and `body` are those of its problem document. */
export class Problem extends TieoutError {
  /** @param {number} status @param {Json} body */
  constructor(status, body) {
    const wrong = (body.errors ?? []).map((/** @type {Json} */ one) => ` ${one.path}: ${one.problem}`).join("");
    const said = body.detail ?? "It sent no problem document: does TIEOUT_URL lead to Tieout itself?";
    super(`Tieout answered ${status}: ${said}${wrong}`);
    this.status = status;
    this.body = body;
    this.type = kindOf(body);
  }
}

/** @param {Json} body */
const kindOf = (body) => String(body.type ?? "").split("/").at(-1);
/** @param {number} ms */
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
/** @param {string} text */
const digest = (text) => createHash("sha256").update(text).digest("hex");

/**
 * Make text of a reference, and keep words within what Tieout takes; an error where it is none.
 * @param {string} name @param {any} value
 */
function plain(name, value) {
  if (name === "destination_reference") {
    if (typeof value !== "string" && typeof value !== "bigint" && !Number.isSafeInteger(value)) {
      throw new TypeError("it is text or a whole number");
    }
    return String(value).trim() || undefined;
  }
  if (name === "error_code") return String(value).trim().replace(/[^!-~]/g, "_").slice(0, CODE_MAX) || undefined;
  if (name !== "message") return JSON.stringify(value) && value;
  const whole = [...String(value)].slice(0, MESSAGE_MAX).join("");
  return whole.replace(/\0|\p{Surrogate}/gu, "?");
}

/**
 * Return what can be told beside an outcome. What cannot is said and left out: it undoes no outcome.
 * @param {Json} members @param {string} what
 */
function toldWith(members, what) {
  /** @type {Json} */ const told = {};
  for (const [name, value] of Object.entries(members)) {
    try {
      if (value != null) told[name] = plain(name, value);
    } catch (error) {
      console.error(`tieout: ${what}: told without ${name}: ${/** @type {any} */ (error)?.message}.`);
    }
  }
  return told;
}

/**
 * Return an outcome without the members that Tieout named in refusing it, or without all.
 * @param {Json} said @param {Json} refusal @returns {Json}
 */
function less(said, refusal) {
  const beside = Object.keys(said).filter((name) => name !== "outcome");
  const wrong = new Set((refusal.errors ?? []).map((/** @type {Json} */ one) => String(one.path).split(".")[0]));
  const named = beside.filter((name) => wrong.has(name));
  const out = named.length > 0 ? named : beside;
  return Object.fromEntries(Object.entries(said).filter(([name]) => !out.includes(name)));
}

/**
 * Say whether an error proves that no byte of the request that failed was sent; whatever else it carries denies it.
 * It does not know of requests before that one: a redirect that was followed, a repetition by a library.
 * @param {any} error
 * @returns {boolean}
 */
export function notSent(error) {
  if (!(error instanceof Error)) return false;
  const { code, syscall, cause, errors } = /** @type {any} */ (error);
  const inner = [...(errors ?? []), ...(cause === undefined ? [] : [cause])];
  const proof = syscall === "connect" || syscall === "getaddrinfo" || NOT_SENT.has(code);
  const carries = error instanceof AggregateError || (error instanceof TypeError && error.message === "fetch failed");
  return (proof || (carries && inner.length > 0)) && inner.every(notSent);
}

/** A private folder of small files, each a fact that must outlive this process; the Python client reads it, too. */
class Spool {
  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder;
  }

  /**
   * Put a fact on disk, whole and durable; with `first`, false where one of that name is there.
   * @param {string} name @param {Json} fact
   */
  async write(name, fact, { first = false } = {}) {
    const temporary = join(this.folder, `.${randomUUID()}`);
    try {
      await this.make();
      await this.#flushed(temporary, "wx", JSON.stringify({ v: 1, ...fact }));
      if (!first) await rename(temporary, join(this.folder, name));
      else if (!(await this.#linked(temporary, name))) return false;
      await this.#flushed(this.folder, "r");
    } catch (error) {
      if (error instanceof SpoolError) throw error;
      throw new SpoolError(`The spool folder ${this.folder} cannot be written: ${/** @type {any} */ (error).code}.`);
    } finally {
      await unlink(temporary).catch(() => {});
    }
    return true;
  }

  /** Make the folder; SpoolError where others could put words into it. */
  async make() {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const found = await stat(this.folder);
    const own = process.geteuid === undefined || (found.uid === process.geteuid() && (found.mode & 0o022) === 0);
    if (own) return;
    throw new SpoolError(
      `The spool folder ${this.folder} is somebody else's, or others may write to it. Set TIEOUT_SPOOL to a folder ` +
        "of this user's own, such as one below it, or chmod it to 700.",
    );
  }

  /** Remove what is of no use any more: no lease lasts as long. */
  async sweep() {
    for (const name of await readdir(this.folder).catch(() => /** @type {string[]} */ ([]))) {
      if (name.endsWith(".lock") || !(name.startsWith(".") || name.endsWith(".claim"))) continue;
      const found = await stat(join(this.folder, name)).catch(() => null);
      if (found?.isFile() && Date.now() - found.mtimeMs > STALE_MS) await this.remove(name);
    }
  }

  /** @param {string} path @param {string} how @param {string} [text] */
  async #flushed(path, how, text) {
    const file = await open(path, how, 0o600);
    try {
      if (text !== undefined) await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** @param {string} temporary @param {string} name */
  async #linked(temporary, name) {
    try {
      await link(temporary, join(this.folder, name));
      return true;
    } catch (error) {
      if (/** @type {any} */ (error).code === "EEXIST") return false;
      throw error;
    }
  }

  /**
   * Return a fact, or null. What cannot be read is set aside and said.
   * @param {string} name @returns {Promise<Json | null>}
   */
  async read(name) {
    let text;
    try {
      text = await readFile(join(this.folder, name), "utf8");
    } catch (error) {
      const { code } = /** @type {any} */ (error);
      if (code === "ENOENT" || code === "ENOTDIR") return null;
      throw new SpoolError(`The spool folder ${this.folder} cannot be read: ${code}.`);
    }
    try {
      const fact = JSON.parse(text);
      if (fact?.v === 1) return fact;
    } catch {} // set aside below
    if (await this.aside(name, "unreadable", "It cannot be read.")) return null;
    throw new SpoolError(`The spool folder ${this.folder} cannot be written: ${name} stays in the way.`);
  }

  /** Remove a fact that has served; SpoolError where it stays and was to go `surely`. @param {string} name */
  async remove(name, { surely = false } = {}) {
    try {
      await unlink(join(this.folder, name));
    } catch (error) {
      const { code } = /** @type {any} */ (error);
      if (!surely || code === "ENOENT") return; // what stays is told again, which changes nothing
      throw new SpoolError(`The spool folder ${this.folder} cannot be written: ${code}.`);
    }
  }

  /**
   * Keep a file out of the way, for a person to look at; false where it stays in the way.
   * @param {string} name @param {string} kind @param {string} why
   */
  async aside(name, kind, why) {
    let place = `${name}.${kind}`;
    try {
      await rename(join(this.folder, name), join(this.folder, place));
    } catch (error) {
      if (/** @type {any} */ (error).code !== "ENOENT") place = name;
    }
    console.error(`tieout: ${join(this.folder, place)}: ${why} Look at it, then remove it.`);
    return place !== name;
  }

  /** @param {RegExp} pattern @returns {Promise<string[]>} */
  async names(pattern) {
    const all = await readdir(this.folder).catch(() => /** @type {string[]} */ ([]));
    return all.filter((name) => !name.startsWith(".") && pattern.test(name)).sort();
  }
}

/** One operation, as Tieout answers for it. */
export class Operation {
  /** @type {Json} */ #attempt = {};
  /** @type {Json} */ #after = {};
  /** @type {Json} */ #claim;
  #client;
  #name;
  #endsAt = Infinity;
  #gone = false;
  /** @type {NodeJS.Timeout | undefined} */ #timer;

  /** @param {Tieout} client @param {Json} claim */
  constructor(client, claim) {
    this.#client = client;
    this.#claim = claim;
    this.type = String(claim.type);
    this.key = String(claim.key);
    /** @type {Decision | ""} */ this.decision = "";
    this.why = "";
    /** @type {string | null} */ this.case = null;
    /** @type {string | null} */ this.retryAt = null;
    /** @type {string[]} */ this.changed = [];
    /** @type {Json} */ this.operation = {};
    /** @type {Json | undefined} */ this.payload = claim.payload;
    /** @type {string | null} */ this.said = null;
    this.#name = digest(`${client.url}\n${this.type}\n${this.key}`).slice(0, 32);
  }

  /** Whether the work is to be done now, here. */
  get proceed() {
    return this.decision === "proceed";
  }
  /** The key to send to the destination. @returns {string | undefined} */
  get idempotencyKey() {
    return this.#attempt.idempotency_key;
  }
  /** The destination's own number for it, where it is known. @returns {string | null} */
  get reference() {
    return this.operation.destination_reference ?? null;
  }
  /** Whether the lease has ended: start nothing more, and say what came back all the same. */
  get lost() {
    return this.#gone || performance.now() >= this.#endsAt;
  }

  /** The destination confirmed it, under its own reference. @param {string | number} [reference] @param {Json} [members] */
  async succeeded(reference, members = {}) {
    await this.#say("succeeded", { destination_reference: reference, ...members });
  }
  /** The destination took it, and it is not final. @param {string | number} [reference] @param {Json} [members] */
  async accepted(reference, members = {}) {
    await this.#say("accepted", { destination_reference: reference, ...members });
  }
  /** It is proved that nothing was done: a refused connection, 429 (with `retry_after_s`). @param {Json} [members] */
  async retryable(members = {}) {
    await this.#say("retryable", members);
  }
  /** The destination refused it for good: `http_status`, `error_code`, `message`. @param {Json} [members] */
  async rejected(members = {}) {
    await this.#say("rejected", members);
  }
  /** It may have happened. @param {Json} [members] */
  async uncertain(members = {}) {
    await this.#say("uncertain", members);
  }

  /** Return it where it may be done now; else throw Done, Wait, Hold or Refused. */
  orThrow() {
    if (this.proceed) return this;
    throw this._notNow();
  }
  /** Throw Wait or Hold where the work itself has said that it is not done. */
  _doneOrThrow() {
    if (this.said === "succeeded" || this.said === "accepted") return;
    this.#stands(this.#after.decision ?? "wait", { ...this.#after, why: `It was ${this.said}.` });
    throw this._notNow();
  }
  _notNow() {
    const kinds = { skip: Done, wait: Wait, hold: Hold };
    return new (kinds[/** @type {keyof typeof kinds} */ (this.decision)] ?? Refused)(this);
  }

  /** The work goes on: the lease lasts longer. LeaseLost where it has ended. @param {number} [lease_s] seconds */
  async heartbeat(lease_s = this.#claim.lease_s) {
    const patienceMs = Math.max((this.#endsAt - performance.now()) / 3, 0);
    const body = { token: this.#attempt.token, ...(lease_s ? { lease_s } : {}) };
    const answer = await this.#client._ask("POST", `attempts/${this.#attempt.id}/heartbeat`, body, patienceMs);
    if (answer.status === 409) {
      this.#gone = true;
      throw new LeaseLost(`${this.type} ${this.key}: ${answer.body.detail}`);
    }
    this.#lasts(good(answer).attempt);
  }

  /** @param {(op: Operation) => any} work @param {boolean} heartbeat */
  async _run(work, heartbeat) {
    await this.#begin();
    if (!this.proceed) return;
    if (heartbeat) this.#beat();
    try {
      await work(this);
    } catch (error) {
      await this.#failed(/** @type {any} */ (error));
      throw error;
    } finally {
      clearTimeout(this.#timer);
    }
    if (this.said !== null) return;
    await this.uncertain({ error_code: "nothing_said", message: "The work ended without saying what came back." });
    throw new NothingSaid(
      `${this.type} ${this.key}: the work ended and did not say what came back, so Tieout was told that it may have ` +
        "happened. Call op.succeeded(reference), or what else it was, and await it.",
    );
  }

  /** @param {any} error */
  async #failed(error) {
    if (this.said !== null) return;
    const known = String(error?.cause?.code ?? error?.code ?? error?.name ?? "error");
    try {
      // An error of fetch does not say whether a redirect came before it, so it proves nothing.
      await this.uncertain({ error_code: known, message: `${known}: it may have happened.` });
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem; // it is logged; the work's own error goes on its way
    }
  }

  #beat() {
    this.#timer = setTimeout(
      async () => {
        try {
          await this.heartbeat();
        } catch (error) {
          this.#gone = this.lost || !(error instanceof TieoutUnavailable);
          if (this.#gone) return console.error(`tieout: ${/** @type {Error} */ (error).message}`);
        }
        if (this.said === null) this.#beat();
      },
      Math.max((this.#endsAt - performance.now()) / 3, 50),
    );
    this.#timer.unref();
  }

  async #begin() {
    const { spool } = this.#client;
    await this.#client._tellAll();
    if (await this.#untold()) return;
    try {
      await this.#claimed();
      // A process of Python's may have begun it unasked meanwhile; no lock keeps that one off. The claim lapses.
      if (this.proceed && !(await this.#untold())) await this.#start();
    } catch (error) {
      if (!(error instanceof TieoutUnavailable)) throw error;
      throw new TieoutUnavailable(`${error.message} Nothing was done for ${this.type} ${this.key}.`);
    }
  }

  /** Decide by what is on disk, where Tieout does not know all of it yet. */
  async #untold() {
    const { spool } = this.#client;
    const [name] = await spool.names(new RegExp(`^${this.#name}.*\\.(open|outcome)(\\.unreadable)?$`));
    if (name === undefined) return false;
    const fact = name.endsWith(".unreadable") ? null : await spool.read(name);
    const why = `What was done for it is not told to Tieout yet: ${join(spool.folder, name)}.`;
    this.#stands(fact?.outcome?.outcome === "succeeded" ? "skip" : "wait", { why, operation: fact?.outcome });
    return true;
  }

  async #claimed() {
    const { spool } = this.#client;
    const name = `${this.#name}.claim`;
    // Others of this folder may come in between, but not for ever.
    for (let turn = 0; turn < TURNS; turn += 1) {
      const kept = await spool.read(name);
      if (kept === null) {
        await spool.write(name, { attempt_id: randomUUID() }, { first: true });
        continue;
      }
      const asked = { ...this.#claim, attempt_id: kept.attempt_id };
      const answer = await this.#client._ask("POST", "operations/claim", asked);
      const { decision } = answer.body;
      const elsewhere = kindOf(answer.body) === "attempt-id-elsewhere";
      if (decision !== "proceed") await spool.remove(name, { surely: elsewhere });
      if (elsewhere) continue;
      if (!decision) good(answer);
      this.payload = answer.body.payload ?? this.payload;
      this.#attempt = answer.body.attempt ?? {};
      return this.#stands(decision ?? "refuse", answer.body);
    }
    throw new SpoolError(`${join(spool.folder, name)} cannot be used. Look at it, then remove it.`);
  }

  /** Have it on record that the first byte may go. Whatever keeps it from that, nothing was sent. */
  async #start() {
    const askedAt = performance.now();
    const body = { token: this.#attempt.token, start_id: randomUUID() };
    let answer;
    try {
      answer = await this.#client._ask("POST", `attempts/${this.#attempt.id}/start`, body);
    } catch (error) {
      const message = "Nothing was sent: Tieout did not confirm the start.";
      await this.#client._keep(...this.#fact("retryable", { error_code: "not_started", message }));
      throw error;
    }
    if (answer.status === 409) {
      await this.#client.spool.remove(`${this.#name}.claim`);
      const { decision } = answer.body;
      return this.#stands(decision && decision !== "proceed" ? decision : "wait", answer.body);
    }
    const { attempt } = good(answer);
    this.#attempt.since = [askedAt, Date.parse(attempt.started_at)];
    this.#lasts(attempt);
  }

  /** Count the lease from before the start: it never ends later here. @param {Json} attempt */
  #lasts(attempt) {
    const [askedAt, startedAt] = this.#attempt.since;
    this.#endsAt = askedAt + Date.parse(attempt.lease_expires_at) - startedAt;
  }

  /** @param {Decision} decision @param {Json} body */
  #stands(decision, body) {
    this.decision = decision;
    this.case = body.case ?? null;
    this.retryAt = body.retry_at ?? null;
    this.changed = body.changed ?? [];
    this.operation = body.operation ?? {};
    this.why = String(body.why ?? body.detail ?? "");
    if (decision === "skip" && !this.why) this.why = this.reference ? `It is done: ${this.reference}.` : "It is done.";
    if (this.case && !this.why.includes(this.case)) this.why += ` Decide at ${this.case}`;
  }

  /** @param {string} outcome @param {Json} members @returns {[string, Json]} */
  #fact(outcome, members) {
    const { id, token } = this.#attempt;
    const about = { url: this.#client.url, type: this.type, key: this.key, attempt: { id, token } };
    const said = { ...toldWith(members, `${this.type} ${this.key}`), outcome };
    return [`${this.#name}.${digest(token).slice(0, 16)}.outcome`, { ...about, outcome: said }];
  }

  /** @param {string} outcome @param {Json} members */
  async #say(outcome, members) {
    const what = `${this.type} ${this.key}`;
    if (!this.proceed) throw new TieoutError(`${what} was not yours to do (${this.decision}).`);
    if (this.said !== null) throw new TieoutError(`${what}: ${this.said} was said already, and stands.`);
    this.said = outcome;
    const [name, fact] = this.#fact(outcome, members);
    const kept = await this.#client._keep(name, fact);
    try {
      const answer = await this.#client._told(name, fact, kept);
      this.#after = answer ?? {};
      this.operation = this.#after.operation ?? this.operation;
    } finally {
      await this.#client.spool.remove(`${this.#name}.claim`);
    }
  }
}

/** @typedef {{status: number, body: Json}} Answer */

/** @param {Answer} answer @returns {Json} */
function good(answer) {
  if (answer.status >= 300) throw new Problem(answer.status, answer.body);
  return answer.body;
}

/** One Tieout, asked with one token. */
export class Tieout {
  #token;
  #patienceMs;
  #timeoutMs;

  /**
   * What is not given is taken from the environment. `patience_s` bounds a call with its repetitions, in seconds.
   * @param {{url?: string, token?: string, spool?: string, patience_s?: number, timeout_s?: number}} [given]
   */
  constructor({ url, token, spool, patience_s = 30, timeout_s = 10 } = {}) {
    const { TIEOUT_URL, TIEOUT_TOKEN, TIEOUT_TOKEN_FILE, TIEOUT_SPOOL, XDG_STATE_HOME } = process.env;
    this.url = (url ?? TIEOUT_URL ?? "").replace(/\/+$/, "");
    if (!/^https?:/.test(this.url)) {
      throw new TieoutError("Give url, or set TIEOUT_URL, such as https://tieout.example.com.");
    }
    const found = token ?? (TIEOUT_TOKEN_FILE ? readFileSync(TIEOUT_TOKEN_FILE, "utf8") : TIEOUT_TOKEN);
    this.#token = (found ?? "").trim();
    if (!this.#token) throw new TieoutError("Give token, or set TIEOUT_TOKEN or TIEOUT_TOKEN_FILE.");
    this.#patienceMs = patience_s * 1000;
    this.#timeoutMs = timeout_s * 1000;
    const state = XDG_STATE_HOME ?? join(homedir(), ".local", "state");
    this.spool = new Spool(spool ?? TIEOUT_SPOOL ?? join(state, "tieout"));
  }

  /**
   * Do the work once: call it where it may be done now, and return the operation in every case.
   * With `heartbeat`, the lease is extended for as long as the work runs.
   * @param {Members & {heartbeat?: boolean}} members @param {(op: Operation) => any} work
   */
  async operation(members, work) {
    const op = await this.#run(members, work);
    // Else a script would end as if it were done.
    if (!op.proceed && op.decision !== "skip") console.error(`tieout: ${op._notNow().message}`);
    return op;
  }

  /**
   * Do the work once, and return its reference: what the work returns, also where it is done already.
   * What must not be done now, or was not done by the work's own word, throws Wait, Hold or Refused.
   * @param {Members & {heartbeat?: boolean}} members @param {(op: Operation) => any} work
   * @returns {Promise<string | null>}
   */
  async once(members, work) {
    /** @type {string | null} */ let reference = null;
    const op = await this.#run(members, async (op) => {
      reference = (await work(op)) ?? null;
      if (op.said === null) await op.succeeded(reference ?? undefined);
    });
    if (op.decision === "skip") return op.reference;
    op.orThrow()._doneOrThrow();
    return reference ?? op.reference;
  }

  /** @param {Members & {heartbeat?: boolean}} members @param {(op: Operation) => any} work */
  async #run({ heartbeat = false, ...members }, work) {
    const claim = Object.fromEntries(Object.entries(members).filter(([, value]) => value != null));
    const op = new Operation(this, claim);
    await op._run(work, heartbeat);
    return op;
  }

  /** Hand over what Tieout performs; return the answer with its `decision`. @param {Members} members */
  async submit(members) {
    const answer = await this._ask("POST", "operations", members);
    return answer.body.decision ? answer.body : good(answer);
  }

  /** Return an operation as it stands, with its attempts. @param {string} id */
  async get(id) {
    return good(await this._ask("GET", `operations/${id}`));
  }

  /**
   * Ask for a new operation in place of another one; the same again is the same.
   * @param {string} id @param {Json} members
   */
  async correction(id, members) {
    return good(await this._ask("POST", `operations/${id}/correction`, members));
  }

  /** Tell Tieout what is on disk for it, and return the names of the files that remain. */
  async flush() {
    await this.spool.sweep();
    await this._tellAll(this.#patienceMs);
    return this.spool.names(/\.(open|outcome|unreadable|refused|doubled)$/);
  }

  /**
   * Return a final answer; TieoutUnavailable where none comes in time.
   * @param {string} method @param {string} path @param {Json} [body] @returns {Promise<Answer>}
   */
  async _ask(method, path, body, patienceMs = this.#patienceMs) {
    const until = performance.now() + patienceMs;
    for (let pauseMs = 200; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS)) {
      const { answer, why, askedMs } = await this.#once(method, path, body);
      if (answer) return answer;
      const waitMs = Math.max(askedMs ?? 0, pauseMs * (0.5 + Math.random() / 2));
      if (performance.now() + waitMs > until) {
        throw new TieoutUnavailable(`Tieout at ${this.url} cannot be asked now (${why}).`);
      }
      await sleep(waitMs);
    }
  }

  /**
   * @param {string} method @param {string} path @param {Json} [body]
   * @returns {Promise<{answer?: Answer, why?: string, askedMs?: number}>}
   */
  async #once(method, path, body) {
    let response, text;
    try {
      response = await fetch(`${this.url}/api/v1/${path}`, {
        method,
        headers: {
          Authorization: `Bearer ${this.#token}`,
          "Content-Type": "application/json",
          "User-Agent": `tieout-client-js/${VERSION}`,
        },
        body: body === undefined ? undefined : JSON.stringify(body),
        redirect: "manual", // a token belongs to one address
        signal: AbortSignal.timeout(this.#timeoutMs),
      });
      text = await response.text();
    } catch (error) {
      const { cause, name } = /** @type {any} */ (error);
      return { why: cause?.code ?? name };
    }
    /** @type {Json | null} */ let told = null;
    try {
      told = JSON.parse(text);
    } catch {} // no JSON
    const { status } = response;
    const undecided = told?.retry === "wait" && told.decision == null;
    const again = status >= 500 || [408, 425, 429].includes(status) || undecided;
    if (!again && (told !== null || status >= 300)) return { answer: { status, body: told ?? {} } };
    return { why: `it answered ${status}`, askedMs: 1000 * (Number(response.headers.get("Retry-After")) || 0) };
  }

  /** Put what was said on disk; false where the disk does not take it. @param {string} name @param {Json} fact */
  async _keep(name, fact) {
    try {
      await this.spool.write(name, fact, { first: true });
      return true;
    } catch (error) {
      console.error(`tieout: ${/** @type {Error} */ (error).message}`);
      return false;
    }
  }

  /**
   * Tell what was just said; what cannot be told now stays on disk. SpoolError where it is nowhere, Problem where
   * Tieout does not take it: it then stays on disk for a person.
   * @param {string} name @param {Json} fact @param {boolean} kept @returns {Promise<Json | null>}
   */
  async _told(name, fact, kept) {
    try {
      const answer = await this.#tell(name, fact);
      return answer.body.decision || answer.status === 401 || answer.status === 403 ? answer.body : good(answer);
    } catch (error) {
      if (!(error instanceof TieoutUnavailable)) throw error;
      const what = `${fact.type} ${fact.key}`;
      if (!kept) {
        throw new SpoolError(
          `${what}: ${JSON.stringify(fact.outcome)} is neither on disk (${this.spool.folder}) nor with Tieout. ` +
            `${error.message} Keep this line, and tell a person.`,
        );
      }
      console.error(`tieout: ${what}: what came back is on disk, and told later. ${error.message}`);
      return null;
    }
  }

  /** Tell what is on disk for this Tieout. What was done unasked, the Python client tells. */
  async _tellAll(patienceMs = 0) {
    let failures = 0;
    const names = await this.spool.names(/\.outcome$/);
    if (names.length > 0) await this.spool.make();
    for (const name of names) {
      const fact = await this.spool.read(name);
      if (!fact?.attempt || fact.url !== this.url || failures === 3) continue;
      try {
        await this.#tell(name, fact, patienceMs);
      } catch (error) {
        if (!(error instanceof TieoutUnavailable)) throw error;
        failures += 1;
      }
    }
  }

  /** @param {string} name @param {Json} fact @param {number} [patienceMs] */
  async #tell(name, { type, key, attempt, outcome }, patienceMs) {
    /** @type {Answer} */ let answer;
    let [said, why] = [outcome, ""];
    for (;;) {
      const body = { ...said, token: attempt.token };
      answer = await this._ask("POST", `attempts/${attempt.id}/outcome`, body, patienceMs);
      if (![400, 413].includes(answer.status) || Object.keys(said).length <= 1) break;
      why ||= new Problem(answer.status, answer.body).message;
      said = less(said, answer.body); // what goes along with an outcome does not undo it
    }
    const { message } = new Problem(answer.status, answer.body);
    if (why && ![400, 413].includes(answer.status)) {
      const without = Object.keys(outcome).filter((name) => !(name in said));
      console.error(`tieout: ${type} ${key}: told without ${without.join(", ")}: ${why}`);
    }
    if (answer.status === 401 || answer.status === 403) {
      console.error(`tieout: ${type} ${key} cannot be told: ${message}`);
    } else if (answer.status < 300 || answer.body.decision) {
      // What comes late is kept as evidence.
      if (answer.status >= 300) console.error(`tieout: ${type} ${key}: ${answer.body.detail}`);
      await this.spool.remove(name);
    } else await this.spool.aside(name, "refused", message);
    return answer;
  }
}
