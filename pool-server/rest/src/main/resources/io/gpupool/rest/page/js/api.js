// SPDX-License-Identifier: Apache-2.0
// Requests to the REST interface, with the token that the user has given for this tab.

const BASE = '/api/v1/';
const STORED = 'gpupool.token';

/** @type {string} */
let token = sessionStorage.getItem(STORED) ?? '';
/** @type {function(string): !Promise<boolean>} */
let ask = async () => false;

/** An error answer of the server, in its words. */
export class Problem extends Error {
  /**
   * @param {number} status
   * @param {string} detail
   */
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/**
 * Sets the function that asks the user for a token, given the reason; it resolves to whether there
 * is one now.
 *
 * @param {function(string): !Promise<boolean>} asker
 * @return {void}
 */
export function askWith(asker) {
  ask = asker;
}

/**
 * Keeps a token for this tab; an empty one forgets it.
 *
 * @param {string} text
 * @return {void}
 */
export function setToken(text) {
  token = text;
  if (text) {
    sessionStorage.setItem(STORED, text);
  } else {
    sessionStorage.removeItem(STORED);
  }
}

/** @return {boolean} */
export function hasToken() {
  return token !== '';
}

/**
 * Returns the answer to a request; an error answer is thrown as a Problem.
 *
 * @param {string} method
 * @param {string} path
 * @param {!page.RequestOptions=} options
 * @return {!Promise<!Response>}
 */
export async function send(method, path, { body, headers, signal } = {}) {
  for (;;) {
    const shown = token;
    const response = await fetch(BASE + path, {
      method,
      signal,
      cache: 'no-store',
      headers: {
        ...(shown && { Authorization: `Bearer ${shown}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (response.ok) {
      return response;
    }
    const problem = new Problem(response.status, await detailOf(response));
    // Another request may have been given a new token meanwhile.
    if (
      response.status !== 401 ||
      (shown === token && !(await ask(shown ? problem.message : '')))
    ) {
      throw problem;
    }
  }
}

/**
 * Returns the JSON of the answer to a request, or undefined if the answer is empty.
 *
 * @param {string} method
 * @param {string} path
 * @param {!page.RequestOptions=} options
 * @return {!Promise<?>}
 */
export async function call(method, path, options) {
  const response = await send(method, path, options);
  const text = await response.text();
  return text === '' ? undefined : JSON.parse(text);
}

/**
 * Returns all resources of a list, fetched page by page.
 *
 * @param {string} path
 * @return {!Promise<!Array<?>>}
 */
export async function list(path) {
  const items = [];
  let next = '';
  do {
    const page = await call('GET', `${path}${path.includes('?') ? '&' : '?'}limit=1000${next}`);
    items.push(...page.items);
    next = page.next ? `&cursor=${encodeURIComponent(page.next)}` : '';
  } while (next);
  return items;
}

/**
 * @param {!Response} response
 * @return {!Promise<string>}
 */
async function detailOf(response) {
  try {
    const problem = /** @type {!rest.Problem} */ (await response.json());
    return problem.detail ?? `the server answers ${response.status}`;
  } catch {
    return `the server answers ${response.status}`;
  }
}

/**
 * Returns whether the server knows a token.
 *
 * @param {string} text
 * @return {!Promise<boolean>}
 */
export async function isGood(text) {
  // A header takes no other characters.
  if (!/^[\x21-\x7e]+$/.test(text)) {
    return false;
  }
  const response = await fetch(`${BASE}servers?limit=1`, {
    cache: 'no-store',
    headers: { Authorization: `Bearer ${text}` },
  });
  return response.status !== 401;
}
