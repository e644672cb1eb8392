// SPDX-License-Identifier: Apache-2.0
// The parts of a browser that the page's modules need, under the control of a test. It must be
// imported before them.

const START = Date.UTC(2026, 2, 14, 9, 26, 53);
const RealDate = Date;

let now = START;
let timers = [];
let lastTimer = 0;

globalThis.Date = class extends RealDate {
  constructor(...given) {
    super(...(given.length === 0 ? [now] : given));
  }

  static now() {
    return now;
  }
};

globalThis.setTimeout = (callback, millis) => {
  timers.push({ id: ++lastTimer, at: now + millis, callback });
  return lastTimer;
};

globalThis.clearTimeout = (id) => {
  timers = timers.filter((timer) => timer.id !== id);
};

/** The clock of the page, which stands still. */
export const clock = {
  start: START,

  /** Lets time pass, and lets promises settle after each timer. */
  async pass(millis) {
    const end = now + millis;
    for (;;) {
      await settled();
      timers.sort((a, b) => a.at - b.at);
      if (timers.length === 0 || timers[0].at > end) {
        break;
      }
      const timer = timers.shift();
      now = timer.at;
      timer.callback();
    }
    now = end;
  },
};

/** Resolves when promises that need nothing else are settled. */
export async function settled() {
  for (let i = 0; i < 50; i++) {
    await undefined;
  }
}

const stored = new Map();

globalThis.sessionStorage = {
  getItem: (key) => stored.get(key) ?? null,
  setItem: (key, value) => stored.set(key, String(value)),
  removeItem: (key) => stored.delete(key),
};

/** The server: the requests so far, and the function that answers them. */
export const server = { requests: [], answer: () => json(200, {}) };

globalThis.fetch = async (url, options) => {
  server.requests.push({ url, ...options });
  return server.answer(url, options);
};

/** Returns an answer of the server. */
export function json(status, body) {
  const text = body === undefined ? '' : JSON.stringify(body);
  return {
    ok: status < 300,
    status,
    text: async () => text,
    json: async () => JSON.parse(text),
  };
}

globalThis.window = { addEventListener() {} };

globalThis.AbortController = class {
  signal = {};

  abort() {}
};
