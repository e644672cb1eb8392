// SPDX-License-Identifier: Apache-2.0
// Follows the server's events for as long as the page is open, and begins anew after each break.

import { Problem, send } from './api.js';

const SILENCE_MILLIS = 25_000;
const FIRST_WAIT_MILLIS = 1000;
const LONGEST_WAIT_MILLIS = 15_000;

/**
 * Calls `onState` with {live: true}, or {live: false, reason, againAt} as things go, `onBegin`
 * before the first change of each stream, and `onChange` with every change. Returns a function that
 * tries at once what would be tried later.
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
          onState({ live: true });
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

async function stream(onOpen, onChange) {
  const abort = new AbortController();
  let timer = setTimeout(() => abort.abort(), SILENCE_MILLIS);
  window.addEventListener('offline', () => abort.abort(), { signal: abort.signal });
  try {
    const response = await send('GET', 'events', { signal: abort.signal });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    let isFirst = true;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        return;
      }
      // The server speaks every ten seconds, if only to show that it is there.
      clearTimeout(timer);
      timer = setTimeout(() => abort.abort(), SILENCE_MILLIS);
      if (isFirst) {
        isFirst = false;
        onOpen();
      }
      text += value;
      const events = text.split('\n\n');
      text = events.pop();
      for (const event of events) {
        const data = event.split('\n').find((line) => line.startsWith('data: '));
        if (data) {
          onChange(JSON.parse(data.slice('data: '.length)));
        }
      }
    }
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
}
