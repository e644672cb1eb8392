// SPDX-License-Identifier: Apache-2.0
// Asks for a token. It is kept for this tab, and forgotten when that is closed.

import { isGood, Problem, setToken } from '../api.js';
import { h } from '../dom.js';
import { field } from '../parts/field.js';
import { openForm } from './dialog.js';

/** @type {(!Promise<boolean>|undefined)} */
let asking;

/**
 * Asks the user for a token, once for all callers; resolves to whether there is one now.
 *
 * @param {string} why
 * @return {!Promise<boolean>}
 */
export function askForToken(why) {
  asking ??= new Promise((resolve) => {
    let isSignedIn = false;
    openForm({
      title: 'Sign in to the pool',
      label: 'Sign in',
      cancel: '',
      draw: () => [
        why && h('p', { class: 'fault' }, why),
        field({
          label: 'Token',
          name: 'token',
          type: 'password',
          required: true,
          autocomplete: 'off',
          spellcheck: 'false',
          autofocus: true,
          hint: 'As “gpupool tenant token create” prints it. The first admin’s is in admin.token in the server’s state folder.',
        }),
      ],
      submit: async (/** !FormData */ data) => {
        const token = String(data.get('token')).trim();
        if (!(await isGood(token))) {
          throw new Problem(
            401,
            'The pool does not know this token: it was mistyped, has expired or was revoked.',
          );
        }
        setToken(token);
        isSignedIn = true;
      },
      onClose: () => {
        asking = undefined;
        resolve(isSignedIn);
      },
    });
  });
  return asking;
}
