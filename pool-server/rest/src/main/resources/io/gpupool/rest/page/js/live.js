// SPDX-License-Identifier: Apache-2.0
// The connection to the server's events, which is opened again after each break.

import { Problem, send } from './api.js';
import { EventStream } from './event-stream.js';

const SILENCE_MILLIS = 25_000;
const FIRST_WAIT_MILLIS = 1000;
const LONGEST_WAIT_MILLIS = 15_000;

/**
 * Follows the events: calls `onState` when the connection opens or breaks, `onBegin` before the
 * first change of each stream, and `onChange` with every change. Returns a function that retries
 * at once.
 *
 * @param {!page.Follower} follower
 * @return {function(): void}
 */
export function follow({ onState, onBegin, onChange }) {
  let wake = () => {};
  const again = () => wake();
  window.addEventListener('online', again);
  (async () => {
    let wait = FIRST_WAIT_MILLIS;
    for (;;) {
      let reason = 'the server ended the connection';
      try {
        await stream(() => {
          wait = FIRST_WAIT_MILLIS;
          onBegin();
          onState({ live: true, reason: '', againAt: 0 });
        }, onChange);
      } catch (error) {
        reason = error instanceof Problem ? error.message : 'the server cannot be reached';
      }
      onState({ live: false, reason, againAt: Date.now() + wait });
      await new Promise((resolve) => {
        wake = resolve;
        setTimeout(resolve, wait);
      });
      wait = Math.min(2 * wait, LONGEST_WAIT_MILLIS);
    }
  })();
  return again;
}

/**
 * @param {function(): void} onOpen
 * @param {function(!rest.Change): void} onChange
 * @return {!Promise<void>}
 */
async function stream(onOpen, onChange) {
  const abort = new AbortController();
  let timer = setTimeout(() => abort.abort(), SILENCE_MILLIS);
  window.addEventListener('offline', () => abort.abort(), { signal: abort.signal });
  try {
    const response = await send('GET', 'events', { signal: abort.signal });
    const reader = response.body
      .pipeThrough(/** @type {?} */ (new TextDecoderStream()))
      .getReader();
    const events = new EventStream();
    let isFirst = true;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        return;
      }
      // The server sends something every ten seconds, if only a comment.
      clearTimeout(timer);
      timer = setTimeout(() => abort.abort(), SILENCE_MILLIS);
      if (isFirst) {
        isFirst = false;
        onOpen();
      }
      events.take(value).forEach(onChange);
    }
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
}
