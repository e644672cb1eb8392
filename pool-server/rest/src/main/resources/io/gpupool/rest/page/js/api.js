// SPDX-License-Identifier: Apache-2.0
// Requests to the REST interface, with the token that the user has given for this tab.

const BASE = '/api/v1/';
const STORED = 'gpupool.token';

let token = sessionStorage.getItem(STORED) ?? '';
let ask = async () => false;

/** What the server has against a request, in its words. */
export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** Sets who asks for a token: a function of why, that resolves to whether there is one now. */
export function askWith(asker) {
  ask = asker;
}

export function setToken(text) {
  token = text;
  if (text) {
    sessionStorage.setItem(STORED, text);
  } else {
    sessionStorage.removeItem(STORED);
  }
}

export function hasToken() {
  return token !== '';
}

/** The answer itself; one that is not good becomes a Problem. */
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

/** What was answered, from JSON; undefined if that has no body. */
export async function call(method, path, options) {
  const response = await send(method, path, options);
  const text = await response.text();
  return text === '' ? undefined : JSON.parse(text);
}

/** All things of a kind, page by page. */
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

async function detailOf(response) {
  try {
    return (await response.json()).detail ?? `the server answers ${response.status}`;
  } catch {
    return `the server answers ${response.status}`;
  }
}

/** Whether the server knows this token. */
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
