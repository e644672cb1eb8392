// SPDX-License-Identifier: Apache-2.0
// Taking a server out of service, and putting it back.

import { call } from '../api.js';
import { h } from '../dom.js';
import { plural } from '../format.js';
import { field } from '../parts/field.js';
import { say } from '../parts/notice.js';
import { openForm } from './dialog.js';

const MINUTE_MILLIS = 60_000;

/**
 * Asks for a deadline and drains a server.
 *
 * @param {!rest.Server} server
 * @return {void}
 */
export function drain(server) {
  openForm({
    title: `Drain server ${server.name}?`,
    label: `Drain ${server.name}`,
    danger: true,
    draw: () => [
      h(
        'p',
        null,
        `It grants nothing more, also after a restart, until it is put back. ${
          server.leases > 0
            ? `Its ${plural(server.leases, 'lease')} go on until they end.`
            : 'Nothing is leased of it now.'
        }`,
      ),
      field({
        label: 'End the leases that are left after',
        name: 'minutes',
        type: 'number',
        min: '0',
        step: 'any',
        unit: 'minutes',
        hint: 'empty: never; 0: at once',
      }),
    ],
    submit: async (/** !FormData */ data) => {
      const minutes = data.get('minutes');
      await call('POST', `servers/${encodeURIComponent(server.name)}/drain`, {
        body: minutes === '' ? {} : { deadlineMillis: Math.round(Number(minutes) * MINUTE_MILLIS) },
      });
      say(`Server ${server.name} drains.`);
    },
  });
}

/**
 * @param {!rest.Server} server
 * @return {!Promise<void>}
 */
export async function uncordon(server) {
  try {
    await call('POST', `servers/${encodeURIComponent(server.name)}/uncordon`);
    say(`Server ${server.name} is in service again.`);
  } catch (error) {
    say(error.message, { isFault: true });
  }
}
